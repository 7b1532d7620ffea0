"""Connections of ours to PostgreSQL: what they set, how long they may be silent, and what a pooler changes."""

import contextlib

import psycopg
import pytest

from leasehold.model.effect import done, intend
from leasehold.store import open_store
from leasehold.store.db import statements
from tests.store.work import claim, look, register, submit
from tests.support.databases.cutting_proxy import CuttingProxy
from tests.support.databases.postgres import database_name
from tests.support.wait import until


@pytest.fixture
def url(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    yield url
    postgres.drop_database(url)


def raw(store) -> psycopg.Connection:
    """The engine's own connection that is idle now."""
    found = store.database.perform(lambda session: session.raw)
    assert isinstance(found, psycopg.Connection)
    return found


@pytest.fixture
def pooled_url(postgres, url):
    """A server behind what looks like a pooler."""
    with CuttingProxy(postgres.port) as proxy:
        proxy.is_pooler = True
        yield f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(url)}?sslmode=disable&gssencmode=disable"


LEFT_BEHIND = "SELECT (SELECT count(*) FROM pg_prepared_statements), current_setting('enable_seqscan')"


def test_s2_behind_a_pooler_nothing_is_prepared_and_nothing_is_set(pooled_url):
    """Another client's statement of the same name would run with our values, and our settings would be everybody's."""
    with contextlib.closing(open_store(pooled_url, connections=1)) as store:
        for number in range(10):  # past the fifth use psycopg prepares
            submit(store, str(number), "x")
        assert raw(store).execute(LEFT_BEHIND).fetchone() == (0, "on")


def test_s2_behind_a_pooler_a_connection_of_the_caller_is_treated_like_ours(pooled_url):
    with contextlib.closing(open_store(pooled_url)) as store, psycopg.connect(pooled_url) as connection:
        for number in range(10):
            with store.transaction(connection):
                submit(store, f"mine {number}")
        assert connection.execute(LEFT_BEHIND, prepare=False).fetchone() == (0, "on")


def test_where_no_pooler_stands_statements_are_prepared(store):
    for number in range(10):
        submit(store, str(number), "x")
    found = raw(store).execute(LEFT_BEHIND).fetchone()
    assert found is not None
    assert found[0] > 0
    assert found[1] == "off"


SILENT = (
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'leasehold' AND state = 'idle in transaction'"
    " AND datname = current_database() AND clock_timestamp() - state_change > '2.5 s'"
)


@pytest.mark.parametrize("given", ["url", "pooled_url"])
def test_who_reads_a_whole_job_may_be_busy_with_a_part_of_it(request, given):
    """It holds no rows that others wait for: a verdict on a large job, or a slow disk, is not cut off after 2 s."""
    with contextlib.closing(open_store(request.getfixturevalue(given))) as store:
        (number,) = submit(store, "k")
        visits = []

        def visit(parts):
            visits.append([part.task.id for part in parts])
            until(lambda: look(store, SILENT))
            return visits

        assert store.records.read(number, visit) == [[number]]


def test_l1_behind_a_pooler_a_transaction_of_ours_has_its_limit_for_itself(pooled_url):
    limit = "SHOW idle_in_transaction_session_timeout"
    with contextlib.closing(open_store(pooled_url, connections=1)) as store:
        within = store.database.transact(lambda session: session.raw.execute(limit).fetchone())  # type: ignore[attr-defined]
        assert (within, raw(store).execute(limit).fetchone()) == (("2s",), ("0",))


def test_s2_behind_a_pooler_an_act_of_the_users_prepares_nothing_and_has_two_minutes(pooled_url):
    """What it has prepared there would be run by name with another client's values."""
    found = []

    def act(connection):
        for _ in range(10):  # past the fifth use psycopg prepares
            left = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        found.append((left, connection.execute("SHOW idle_in_transaction_session_timeout").fetchone()))
        return done(asked, "1")

    with contextlib.closing(open_store(pooled_url)) as store:
        submit(store, "k")
        (lease,) = claim(store, register(store))
        asked = intend(lease, "ACT", {}, 1)
        store.effects.transact(asked, act)
    assert found == [((0,), ("2min",))]


def test_a_wake_up_leaves_commits_waiting_for_the_disk(store):
    """The setting that lets a hint not wait must not outlive its transaction: the session may be another's next."""
    connection = raw(store)
    values = {"hint": "default", "code": "", "most": 2, "sender": 0}
    connection.execute(statements.encoded("postgres", "session/notify"), values)
    assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_l1_a_process_that_is_frozen_inside_a_transaction_of_ours_holds_its_rows_for_a_short_time(store):
    """Else an orchestrator that is stopped would stop every other worker's upkeep, which waits for the same rows."""
    assert raw(store).execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("2s",)
