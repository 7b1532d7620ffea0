"""Many new jobs at once: the same rows as any other submit writes, faster where the database has a way."""

# ruff: noqa: S608 — the tests name tables

from contextlib import suppress

import pytest

from leasehold.errors import Broken
from leasehold.insight.verify import verify
from tests.store.model.invariants import check_everything
from tests.store.work import claim, connect, job, look, statuses, submit

ODD = ["\\", "\\n", "a\tb\nc\rd", "\\.", "\\N", "ü€😀", '"', "\u2028", "\x7f", "\\\\x00"]
ROWS = {
    "task": "SELECT kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at, epoch, stage",
    "ready": "SELECT queue, priority, route, attempt, fence, epoch, mark",
    "event": "SELECT at, name, fence, attempt, worker, detail, mark",
}


def many(count=300, **options):
    return [job(f"k{number}", payload={"n": number}, **options) for number in range(count)]


def rows(store):
    return {table: look(store, f"{query} FROM {table} ORDER BY 1, 2, 3") for table, query in ROWS.items()}


def empty(store):
    with connect(store) as connection:
        for table in ROWS:
            prefix = "leasehold." if store.database.dialect.name == "postgres" else ""
            connection.execute(f"DELETE FROM {prefix}{table}")


def test_they_are_the_rows_that_any_other_submit_writes(store, clock):
    """Every column of every table, the marks of the chain included."""
    given = [*many(150, queue="slow", priority=3, on_lost="bury"), *many(150, kind="b", attempts_max=9, lease_ms=5000)]
    clock.advance(1)
    made = store.tasks.submit_new(given)
    assert [answer.key for answer in made] == [given_one.key for given_one in given]
    assert all(answer.created for answer in made)
    before = rows(store)
    empty(store)
    store.tasks.submit(given)
    assert rows(store) == before


def test_any_text_of_a_payload_comes_back_as_it_was(store, worker):
    given = [job(f"k{number}", payload={text: text}) for number, text in enumerate(ODD * 20)]
    made = store.tasks.submit_new(given)
    assert [(one.key, one.payload) for one in made] == [(one.key, one.payload) for one in given]
    leases = claim(store, worker, 1000)
    assert [(lease.key, lease.payload) for lease in leases] == [(one.key, one.payload) for one in given]
    assert all(not verify.verify_job(store, one.id).difference for one in made[: len(ODD)])
    check_everything(store)


def test_they_are_claimed_in_the_order_given(store, worker):
    made = store.tasks.submit_new(many(250))
    assert [lease.task_id for lease in claim(store, worker, 250)] == [one.id for one in made]


def test_one_that_is_to_wait_waits(store):
    made = store.tasks.submit_new(many(120, delay=60))
    assert {status for one in made for status in statuses(store, one.id).values()} == {"NEW"}


@pytest.mark.parametrize("ends_well", [True, False])
def test_in_a_transaction_of_the_caller_they_are_there_with_it_or_not_at_all(store, ends_well):
    with connect(store) as connection:
        connection.execute("CREATE TABLE orders (id integer)")
        with suppress(ZeroDivisionError), store.transaction(connection):
            store.tasks.submit_new(many(200))
            connection.execute("INSERT INTO orders VALUES (1)")
            assert 1 / ends_well
    assert look(store, "SELECT count(*) FROM task") == [(200 if ends_well else 0,)]
    assert look(store, "SELECT count(*) FROM ready") == [(200 if ends_well else 0,)]
    check_everything(store)


@pytest.mark.parametrize("dialect", ["postgres"], indirect=True)
def test_a_key_that_is_there_after_all_leaves_nothing_of_the_others(store):
    """They are inserted without a check; the index on keys still protects."""
    submit(store, "k7")
    with pytest.raises(Broken, match="task_key"):
        store.tasks.submit_new(many(200))
    assert look(store, "SELECT count(*) FROM task") == [(1,)]
