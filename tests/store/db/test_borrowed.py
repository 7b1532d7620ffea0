"""An app on a connection of the caller's own: apsw's, or the standard library's sqlite3."""

import sqlite3
import threading
from contextlib import nullcontext
from typing import Any

import apsw
import pytest

from leasehold import Leasehold, Unavailable
from leasehold.errors import ConnectionForeign, Misuse, OptionInvalid, SqliteTooOld
from leasehold.store.db.sqlite import VERSION_MIN
from leasehold.testing import Clock

LIBRARIES: dict[str, Any] = {"apsw": apsw.Connection, "sqlite3": sqlite3.connect}


@pytest.fixture(params=LIBRARIES)
def connect(request, tmp_path):
    made = []

    def connect(name="mine.db"):
        made.append(LIBRARIES[request.param](":memory:" if name == ":memory:" else str(tmp_path / name)))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def app_on(connection):
    app = Leasehold(connection=connection)
    app.job(name="add", queue="sums")(lambda task, number: number + 1)
    return app


@pytest.mark.parametrize("name", ["mine.db", ":memory:"])
def test_jobs_are_submitted_leased_and_ended_on_the_callers_connection(connect, name):
    app = app_on(connect(name))
    job = app.submit("add", {"number": 1}, key="one")
    assert app.submit("add", {"number": 1}, key="one").id == job.id
    held = app.manual.lease("add", owner="me")
    assert held.task.effect("ACT", lambda: {"words": "ä" * 30_000}) == {"words": "ä" * 30_000}
    assert held.done(2) == "DONE"
    assert (job.status, job.output) == ("DONE", 2)
    assert app.journal.verify(job.id).equal
    app.close()


def test_the_callers_rows_and_the_submit_commit_together_or_not_at_all(connect):
    connection = connect()
    app = app_on(connection)
    app.migrate()
    connection.execute("CREATE TABLE mine (n)")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO mine VALUES (1)")
    app.submit("add", {"number": 1})
    connection.execute("ROLLBACK")
    assert (app.jobs(), connection.execute("SELECT n FROM mine").fetchall()) == ([], [])
    connection.execute("BEGIN")
    connection.execute("INSERT INTO mine VALUES (2)")
    job = app.submit("add", {"number": 2})
    connection.execute("COMMIT")
    assert (job.status, connection.execute("SELECT n FROM mine").fetchall()) == ("READY", [(2,)])
    app.close()


def test_what_the_caller_has_not_committed_leases_nothing_and_begins_no_effect(connect):
    connection = connect()
    app = app_on(connection)
    app.submit_many("add", [{"number": number} for number in range(2)])
    held = app.manual.lease("add", owner="me")
    connection.execute("BEGIN")
    with pytest.raises(Misuse, match="A transaction is open"):
        app.manual.lease("add", owner="me")
    with pytest.raises(Misuse, match="A transaction is open"):
        held.task.effect("ACT", lambda: 1)
    connection.execute("ROLLBACK")
    assert held.task.effect("ACT", lambda: 1) == 1
    app.close()


def test_how_the_caller_wants_rows_and_texts_is_left_alone(tmp_path):
    connection = sqlite3.connect(tmp_path / "mine.db")
    connection.row_factory = sqlite3.Row
    connection.text_factory = bytes
    app = app_on(connection)
    job = app.submit("add", {"number": 1}, key="ä")
    assert (app.get(job.id).key, app.manual.lease("add", owner="me").key) == ("ä", "ä")
    (row,) = connection.execute("SELECT key FROM task").fetchall()
    assert row["key"] == "ä".encode()
    app.close()
    connection.close()


def test_s1_two_connections_of_one_file_lease_nothing_twice(tmp_path):
    got, jobs = [], []

    def take(owner):
        connection = sqlite3.connect(tmp_path / "mine.db", timeout=60)
        app = app_on(connection)
        while held := app.manual.lease("add", owner=owner):
            got.append(held.job_id)
            held.done()
        app.close()
        connection.close()

    connection = sqlite3.connect(tmp_path / "mine.db")
    app = app_on(connection)
    jobs = app.submit_many("add", [{"number": number} for number in range(30)])
    app.close()
    connection.close()
    threads = [threading.Thread(target=take, args=[str(number)]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [job.id for job in jobs]


def test_a_job_is_leased_whatever_functions_the_caller_has_made(connect):
    """`changes` is SQLite's own word for how many rows were written, and anybody may give it another meaning."""
    connection = connect()
    if isinstance(connection, sqlite3.Connection):
        connection.create_function("changes", 0, lambda: 0)
    else:
        connection.create_scalar_function("changes", lambda: 0, 0)
    app = app_on(connection)
    jobs = app.submit_many("add", [{"number": number} for number in range(3)])
    assert [app.manual.lease("add", owner="me").job_id for _ in jobs] == [job.id for job in jobs]
    app.close()


def test_a_lease_expires_by_the_clock_of_the_file(connect):
    app = app_on(connect())
    clock = Clock(app)
    app.submit("add", {"number": 1})
    held = app.manual.lease("add", owner="me", seconds=10)
    clock.advance(11)
    assert not held.renew(10)
    assert app.manual.sweep() == 1
    app.close()


def test_a_file_that_another_is_writing_is_waited_for_and_then_given_up_in_our_words(tmp_path):
    busy, mine = sqlite3.connect(tmp_path / "mine.db"), sqlite3.connect(tmp_path / "mine.db", timeout=0)
    app = app_on(mine)
    app.store.database.dialect.busy_seconds = 0.2
    app.store.database.retry_seconds = 0.2
    app.migrate()
    busy.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable, match="locked"):
        app.submit("add", {"number": 1})
    busy.execute("COMMIT")
    assert app.submit("add", {"number": 1}).status == "READY"
    app.close()
    busy.close()
    mine.close()


def test_an_old_library_is_kept_away_from_a_write_ahead_log(tmp_path):
    connection = sqlite3.connect(tmp_path / "mine.db")
    connection.execute("PRAGMA journal_mode = WAL")
    app = app_on(connection)
    with pytest.raises(SqliteTooOld, match="apsw") if sqlite3.sqlite_version_info < VERSION_MIN else nullcontext():
        app.submit("add", {"number": 1})
    connection.execute("PRAGMA journal_mode = DELETE")
    assert app.submit("add", {"number": 1}).status == "READY"
    app.close()
    connection.close()


def test_an_app_on_a_connection_runs_no_workers_and_closes_nothing(connect):
    connection = connect()
    app = app_on(connection)
    app.submit("add", {"number": 1})
    for run in (app.work, app.drain):
        with pytest.raises(Misuse, match="by its URL"):
            run()
    app.close()
    assert connection.execute("SELECT count(*) FROM task").fetchall() == [(1,)]


def test_what_is_no_connection_is_refused(tmp_path):
    for nonsense in (7, "mine.db", object()):
        with pytest.raises(ConnectionForeign):
            Leasehold(connection=nonsense)
    connection = sqlite3.connect(tmp_path / "mine.db")
    with pytest.raises(OptionInvalid):
        Leasehold("sqlite:///mine.db", connection=connection)
    app = app_on(connection)
    other = sqlite3.connect(tmp_path / "mine.db")
    with pytest.raises(ConnectionForeign), app.transaction(other):
        app.submit("add", {"number": 1})
    connection.close()
    with pytest.raises(Misuse, match="closed"):
        app.submit("add", {"number": 1})
    app.close()
    other.close()


def test_a_broken_file_is_reported(tmp_path):
    (tmp_path / "mine.db").write_bytes(b"no database" * 1000)
    connection = sqlite3.connect(tmp_path / "mine.db")
    with pytest.raises(Misuse, match="cannot be opened"):
        app_on(connection).submit("add", {"number": 1})
    connection.close()
