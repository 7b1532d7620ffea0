"""A database that refuses one row of a change: then none of it happens, neither the move nor its line."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from leasehold.errors import LeaseholdError
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import done
from leasehold.store import Store
from tests.store import work
from tests.store.deadletters.buried_tasks import REMEDY, buried_job
from tests.store.model.invariants import check_everything
from tests.store.work import claim, claim_one, connect, fail, finish, look, pipeline, retry, routes_of, stage, submit
from tests.support.apps.deliveries import post

TABLES = (
    "task", "need", "waiting", "ready", "lease", "outcome", "outcome_past", "unsettled", "event", "dead_letter",
    "delivery",
)  # fmt: skip
ON_POSTGRES = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE TRIGGER refused BEFORE INSERT ON leasehold.{table} FOR EACH ROW EXECUTE FUNCTION refuse();
"""
ON_SQLITE = "CREATE TRIGGER refused BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'refused'); END"


@contextlib.contextmanager
def refusing(store: Store, table: str) -> Iterator[None]:
    """Have the database refuse every new row of a table."""
    is_sqlite = store.url.startswith("sqlite")
    with connect(store) as connection:
        connection.execute((ON_SQLITE if is_sqlite else ON_POSTGRES).format(table=table))
        yield
        connection.execute("DROP TRIGGER refused" if is_sqlite else "DROP FUNCTION refuse CASCADE")


def everything(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    return {table: sorted(look(store, f"SELECT * FROM {table}"), key=repr) for table in TABLES}  # noqa: S608


Act = Callable[[], object]


def submitting(store: Store, worker: int) -> Act:
    return partial(submit, store, "k")


def claiming(store: Store, worker: int) -> Act:
    submit(store, "k")
    return partial(claim_one, store, worker)


def finishing(store: Store, worker: int) -> Act:
    submit(store, "k")
    return partial(finish, store, [claim_one(store, worker)])


def failing(store: Store, worker: int) -> Act:
    submit(store, "k")
    return partial(fail, store, [claim_one(store, worker)])


def retrying(store: Store, worker: int) -> Act:
    submit(store, "k")
    return partial(store.leases.settle, [retry(claim_one(store, worker), 5)])


def delivering(store: Store, worker: int) -> Act:
    submit(store, "k")
    return partial(store.leases.settle, [done(claim_one(store, worker), "null", None, [post()])])


def reclaiming(store: Store, worker: int) -> Act:
    submit(store, "k")
    lease = claim_one(store, worker)
    return partial(store.leases.reclaim, [Reclaim(lease.task_id, lease.fence, "owner gone")])


def cancelling(store: Store, worker: int) -> Act:
    (task,) = submit(store, "k")
    return partial(store.tasks.cancel, task, work.REASON)


def advancing(store: Store, worker: int) -> Act:
    pipeline(store, "k", stage("one"), stage("two", "one", each="list"))
    finish(store, claim(store, worker, routes=routes_of("one")), {"list": [1, 2]})
    return partial(work.advance, store)


def reviving(store: Store, worker: int) -> Act:
    letter = buried_job(store, worker)
    store.deadletters.evidence(letter.id, "ada", REMEDY)
    return partial(store.deadletters.revive, letter.id, "ada")


@pytest.mark.parametrize(
    ("prepare", "table"),
    [
        (submitting, "event"),
        (submitting, "ready"),
        (claiming, "event"),
        (claiming, "lease"),
        (finishing, "event"),
        (finishing, "outcome"),
        (failing, "event"),
        (failing, "dead_letter"),
        (retrying, "event"),
        (retrying, "waiting"),
        (delivering, "event"),
        (delivering, "delivery"),
        (reclaiming, "event"),
        (reclaiming, "ready"),
        (cancelling, "event"),
        (cancelling, "outcome"),
        (advancing, "event"),
        (advancing, "ready"),
        (reviving, "event"),
        (reviving, "outcome_past"),
    ],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_s6_a_change_of_which_one_row_is_refused_does_not_happen_and_can_be_made_later(store, worker, prepare, table):
    """A task's place, its line, its letter and its messages are one transaction."""
    act = prepare(store, worker)
    before = everything(store)
    with refusing(store, table):
        with pytest.raises(LeaseholdError):
            act()
        assert everything(store) == before
    assert act() is not None
    assert everything(store) != before
    check_everything(store)
