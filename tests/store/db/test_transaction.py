"""Submit inside the caller's own transaction: it commits or rolls back with the caller's rows."""

import contextlib

import apsw
import psycopg
import pytest

from leasehold.errors import ConnectionForeign, DatabaseUnavailable, KeyConflict, LeaseholdError, Misuse
from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.store.work import (
    REASON,
    at_once,
    claim,
    connect,
    finish,
    job,
    look,
    pipeline,
    register,
    stage,
    submit,
)

DRIVER_ERRORS = (apsw.Error, psycopg.Error)


@pytest.fixture
def connection(store):
    with connect(store) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS customer (name TEXT PRIMARY KEY)")
        yield connection


def add_customer(connection, name="ada") -> None:
    connection.execute(f"INSERT INTO customer VALUES ('{name}')")  # noqa: S608


def customers(connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM customer ORDER BY name").fetchall()]


def jobs(store) -> list[str]:
    return [row[0] for row in look(store, "SELECT key FROM task ORDER BY id")]


def test_rows_and_jobs_are_committed_together(store, connection, worker):
    with store.transaction(connection):
        add_customer(connection)
        submit(store, "welcome")
        assert jobs(store) == []
    assert customers(connection) == ["ada"]
    assert [lease.key for lease in claim(store, worker)] == ["welcome"]


def test_rows_and_jobs_are_rolled_back_together(store, connection):
    with pytest.raises(ZeroDivisionError), store.transaction(connection):  # noqa: PT012
        add_customer(connection)
        submit(store, "welcome")
        raise ZeroDivisionError
    assert customers(connection) == []
    assert jobs(store) == []
    submit(store, "welcome")
    assert jobs(store) == ["welcome"]


def test_a_transaction_the_caller_began_is_left_for_the_caller_to_end(store, connection):
    connection.execute("BEGIN")
    with store.transaction(connection):
        submit(store, "one")
    assert jobs(store) == []
    connection.execute("ROLLBACK")
    assert jobs(store) == []
    connection.execute("BEGIN")
    with store.transaction(connection):
        submit(store, "two")
    connection.execute("COMMIT")
    assert jobs(store) == ["two"]


def test_a_nested_transaction_that_fails_takes_only_its_own_with_it(store, connection):
    with store.transaction(connection):
        submit(store, "outer")
        with pytest.raises(ZeroDivisionError), store.transaction(connection):  # noqa: PT012
            add_customer(connection)
            submit(store, "inner")
            raise ZeroDivisionError
        submit(store, "after")
    assert jobs(store) == ["outer", "after"]
    assert customers(connection) == []


def test_a_nested_transaction_commits_with_the_outer_one(store, connection):
    with store.transaction(connection):
        with store.transaction(connection):
            submit(store, "inner")
        submit(store, "outer")
    assert jobs(store) == ["inner", "outer"]


def test_a_conflict_that_the_caller_handles_leaves_nothing_of_its_batch(store, connection):
    submit(store, "k", payload={"n": 1})
    with store.transaction(connection):
        with pytest.raises(KeyConflict):
            store.tasks.submit([job("new"), job("k", payload={"n": 2})])
        submit(store, "other")
    assert jobs(store) == ["k", "other"]
    assert look(store, "SELECT count(*) FROM event") == [(2,)]


def test_after_a_transaction_the_store_works_on_its_own_connections_again(store, connection):
    with pytest.raises(ZeroDivisionError), store.transaction(connection):
        raise ZeroDivisionError
    assert not store.database.is_bound
    connection.close()
    assert submit(store, "free")


def test_other_threads_do_not_take_part_in_a_transaction(store, connection):
    if isinstance(connection, psycopg.Connection):  # on SQLite they would wait for the write lock, as they must
        with contextlib.suppress(ZeroDivisionError), store.transaction(connection):
            submit(store, "mine")
            at_once(1, lambda _: submit(store, "theirs"))
            raise ZeroDivisionError
        assert jobs(store) == ["theirs"]
    else:
        with store.transaction(connection):
            assert at_once(1, lambda _: store.database.is_bound) == [False]


def test_a_mistake_of_the_caller_is_the_drivers_own_error(store, connection):
    add_customer(connection)
    with pytest.raises(DRIVER_ERRORS), store.transaction(connection):
        add_customer(connection)
    assert not store.database.is_bound


def test_a_foreign_thing_is_refused_as_a_connection(store):
    with pytest.raises(ConnectionForeign) as refused, store.transaction(object()):
        pytest.fail("it was let in")
    assert refused.value.code == "CONNECTION_FOREIGN"


def test_a_connection_to_another_database_is_refused(store, dialect, tmp_path, request):
    with contextlib.ExitStack() as stack:
        if dialect == "sqlite":
            (tmp_path / "other").mkdir()
            other = open_store(sqlite_url(tmp_path / "other"))
        else:
            postgres = request.getfixturevalue("postgres")
            template = request.getfixturevalue("postgres_template")
            other = open_store(postgres.create_database(template))
        stack.enter_context(contextlib.closing(other))
        other.migrate()
        foreign = stack.enter_context(connect(other))
        with pytest.raises(ConnectionForeign), store.transaction(foreign):
            pytest.fail("it was let in")
        assert jobs(other) == jobs(store) == []


def test_a_closed_connection_gives_an_error_of_ours(store, connection):
    connection.close()
    with pytest.raises(LeaseholdError), store.transaction(connection):
        pytest.fail("it was let in")
    assert not store.database.is_bound


def test_a_connection_that_makes_dictionaries_works_too(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    connection = psycopg.connect(url, row_factory=psycopg.rows.dict_row, cursor_factory=psycopg.ClientCursor)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(connection):
        with store.transaction(connection):
            first = submit(store, "k")
            assert submit(store, "k") == first
        assert jobs(store) == ["k"]
    postgres.drop_database(url)


@contextlib.contextmanager
def callers_own(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()
        with connect(store) as connection:
            yield store, connection


def test_a_traced_connection_of_sqlite_works_too(tmp_path):
    with callers_own(tmp_path) as (store, connection):
        connection.row_trace = lambda _, row: {"first": row[0]}
        connection.exec_trace = lambda *_: False
        connection.cursor_factory = lambda _: pytest.fail("the caller's cursor was used")
        with store.transaction(connection):
            first = submit(store, "k")
            assert submit(store, "k") == first
            pipeline(store, "film", stage("script"), stage("render", "script"))
        assert jobs(store)[:2] == ["k", "film"]
        assert connection.row_trace is not None


def test_temporary_tables_of_the_callers_do_not_stand_in_for_ours(tmp_path):
    with callers_own(tmp_path) as (store, connection):
        tables = [name for (name,) in look(store, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]
        own = {*tables, "added", "taken", "ended", "moved"} - {"sqlite_sequence"}
        for name in sorted(own):
            connection.execute(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY AUTOINCREMENT)")
        connection.execute("INSERT INTO temp.task VALUES (700)")
        with store.transaction(connection):
            (first,) = submit(store, "k")
            film = pipeline(store, "film", stage("script"), stage("render", "script"))
            (lease,) = claim(store, register(store), 1)
            finish(store, [lease])
            store.tasks.cancel(film.id, REASON)
            assert store.reports.health().ready == 0
        assert first == lease.task_id == 1
        assert jobs(store)[:2] == ["k", "film"]
        assert {name: connection.execute(f"SELECT count(*) FROM temp.{name}").fetchall() for name in own} == {  # noqa: S608
            name: [(int(name == "task"),)] for name in own
        }


def test_a_failed_transaction_of_the_callers_gives_errors_of_ours(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(psycopg.connect(url)) as connection:
        with store.transaction(connection):
            pass
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM missing")
        with pytest.raises(Misuse), store.transaction(connection):
            submit(store, "k")
        connection.rollback()
        with pytest.raises(Misuse, match="cannot be committed"), store.transaction(connection):  # noqa: PT012
            submit(store, "k")
            with contextlib.suppress(psycopg.Error):
                connection.execute("SELECT * FROM missing")
        assert jobs(store) == []
    postgres.drop_database(url)


def test_a_connection_without_autocommit_is_left_idle_after_the_commit(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(psycopg.connect(url)) as connection:
        with store.transaction(connection):
            submit(store, "k")
        assert connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert jobs(store) == ["k"]
    postgres.drop_database(url)


def test_a_backend_that_dies_in_the_callers_transaction_is_not_retried_behind_its_back(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(psycopg.connect(url)) as connection:
        with pytest.raises(DatabaseUnavailable), store.transaction(connection):  # noqa: PT012
            submit(store, "k")
            with psycopg.connect(url, autocommit=True) as killer:
                killer.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
            submit(store, "other")
        assert jobs(store) == []
    postgres.drop_database(url)


def test_a_busy_file_is_waited_for_by_the_callers_connection_too(tmp_path):
    """The caller's connection has no busy handler of its own; `database is locked` must not come of that."""
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()

        def act(number):
            with contextlib.closing(apsw.Connection(str(tmp_path / "leasehold.db"))) as connection:
                for turn in range(20):
                    with store.transaction(connection):
                        submit(store, f"{number}-{turn}")

        at_once(6, act)
        assert len(jobs(store)) == 120
