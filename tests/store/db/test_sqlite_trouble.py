"""Trouble on SQLite: another process holds the write lock, and nobody ever reads `database is locked`."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from leasehold.errors import DatabaseUnavailable, LeaseholdError, Misuse, RightsMissing, UrlInvalid
from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.store.work import at_once, claim, finish, look, register, submit

HOLD = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""
SUBMIT = """
import sys
from leasehold.store import open_store
from leasehold.model.task import Submission, Terms
store = open_store(sys.argv[1])
for number in range(60):
    store.tasks.submit([Submission("a", f"{sys.argv[2]}-{number}", "{}", Terms())])
store.close()
"""


@pytest.fixture
def sqlite_store(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()
        yield store


@contextlib.contextmanager
def held_by_another_process(path, how="BEGIN IMMEDIATE"):
    """Yield a function that lets the lock go."""
    command = [sys.executable, "-c", HOLD, str(path), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder.stdin.close
        holder.stdin.close()


@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_write_waits_for_a_lock_that_another_process_holds(sqlite_store, tmp_path, how):
    with held_by_another_process(tmp_path / "leasehold.db", how) as let_go:
        writing = threading.Thread(target=submit, args=(sqlite_store, "k"))
        writing.start()
        writing.join(0.3)
        assert writing.is_alive()
        assert sqlite_store.reports.health().ready == 0
        let_go()
        writing.join()
    assert sqlite_store.reports.health().ready == 1


def test_the_first_operation_of_a_store_waits_for_the_lock_too(sqlite_store, tmp_path):
    late = open_store(sqlite_url(tmp_path))
    with contextlib.closing(late), held_by_another_process(tmp_path / "leasehold.db") as let_go:
        writing = threading.Thread(target=submit, args=(late, "k"))
        writing.start()
        writing.join(0.3)
        let_go()
        writing.join()
        assert late.reports.health().ready == 1


def test_a_transaction_that_will_write_has_the_lock_from_its_first_read_on(sqlite_store, tmp_path):
    """Else whatever another wrote in between would have it begun again, and what is done inside would be done twice."""
    submit(sqlite_store, "k")
    other = apsw.Connection(str(tmp_path / "leasehold.db"))

    def work(session):
        session.run("reports/health")
        with pytest.raises(apsw.BusyError):
            other.execute("BEGIN IMMEDIATE")
        return "alone"

    with contextlib.closing(other):
        assert sqlite_store.database.transact(work) == "alone"


def test_many_processes_and_threads_write_and_none_is_refused(sqlite_store, tmp_path):
    """S3: all that was acknowledged is there."""
    commands = [[sys.executable, "-c", SUBMIT, sqlite_url(tmp_path), str(number)] for number in range(3)]
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(subprocess.Popen(command)) for command in commands]
        at_once(4, lambda number: [submit(sqlite_store, f"mine-{number}-{turn}") for turn in range(30)])
    assert [other.returncode for other in others] == [0, 0, 0]
    assert sqlite_store.reports.health().ready == 3 * 60 + 4 * 30


def test_a_store_closed_while_its_file_is_locked_is_an_error_of_our_own(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path), retry_seconds=0)) as store:
        store.migrate()
        worker = register(store)
        submit(store, "k")

        def close_soon(_):
            store.close()

        with held_by_another_process(tmp_path / "leasehold.db"):
            at_once(1, close_soon)
            with pytest.raises(LeaseholdError):
                claim(store, worker)


def test_a_reader_sees_the_state_before_a_write_that_is_under_way(sqlite_store, tmp_path):
    worker = register(sqlite_store)
    submit(sqlite_store, "k")
    with held_by_another_process(tmp_path / "leasehold.db"):
        assert look(sqlite_store, "SELECT count(*) FROM ready") == [(1,)]
        assert sqlite_store.reports.health().ready == 1
    finish(sqlite_store, claim(sqlite_store, worker))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/missing/x.db")
    with contextlib.closing(store), pytest.raises(UrlInvalid, match="missing does not exist"):
        store.prepare()


def test_a_folder_instead_of_a_file_is_refused(tmp_path):
    with contextlib.closing(open_store(f"sqlite:///{tmp_path}")) as store, pytest.raises(UrlInvalid):
        store.prepare()


def test_a_closed_store_reports_that_it_is_closed(tmp_path):
    store = open_store(sqlite_url(tmp_path))
    store.migrate()
    store.close()
    with pytest.raises(Misuse, match="closed"):
        submit(store, "k")
    store.close()


def test_a_write_that_fails_half_way_leaves_no_scratch_behind(sqlite_store):
    """The scratch tables stand in for one statement; what failed must not be written by the next."""

    def work(session):
        session._connection.execute("INSERT INTO temp.leasehold_added (id, kind, key) VALUES (77, 'a', 'ghost')")  # noqa: SLF001
        raise DatabaseUnavailable

    with pytest.raises(DatabaseUnavailable):
        sqlite_store.database.transact(work)
    submit(sqlite_store, "k")
    assert look(sqlite_store, "SELECT key FROM task") == [("k",)]


def test_a_file_that_stays_locked_is_an_error_of_our_own(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path), connections=1, retry_seconds=0)) as store:
        store.migrate()
        store.database.perform(lambda session: getattr(session, "_connection").set_busy_timeout(0))  # noqa: B009
        with held_by_another_process(tmp_path / "leasehold.db"), pytest.raises(DatabaseUnavailable) as raised:
            submit(store, "k")
    assert "another process is writing" in str(raised.value)
    assert "locked" not in str(raised.value)


@pytest.mark.parametrize("code", [apsw.SQLITE_READONLY, apsw.SQLITE_PERM, apsw.SQLITE_AUTH])
def test_a_file_that_must_not_be_written_is_for_a_person_to_look_at(sqlite_store, code):
    def work(_):
        raise apsw.exception_for(code)

    with pytest.raises(RightsMissing, match="cannot be written; SQLite needs the right"):
        sqlite_store.database.transact(work)


def test_a_file_opened_for_reading_only_is_for_a_person_to_look_at(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path), connections=1)) as store:
        store.migrate()
        store.database.read("reports/health")
        session = store.database.pool.acquire()
        getattr(session, "_connection").execute("PRAGMA query_only = 1")  # noqa: B009
        store.database.pool.release(session)
        with pytest.raises(RightsMissing, match="cannot be written; SQLite needs the right"):
            submit(store, "k")


def test_memory_is_refused_since_workers_share_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UrlInvalid, match="file is needed, because workers share it"):
        open_store("sqlite:///:memory:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite:///a\0b", "postgresql://a\0b/c", None, 7, b"sqlite:///a.db", Path("a.db")])
def test_what_cannot_be_a_url_is_refused_as_one(url):
    with pytest.raises(UrlInvalid):
        open_store(url)
