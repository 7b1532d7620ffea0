"""A submit inside the caller's own transaction lives and dies with it."""

import asyncio

import apsw
import psycopg
import pytest

from leasehold.errors import ConnectionForeign, KeyConflict
from tests.support.db import connected, rows


@pytest.fixture
def welcome(app):
    @app.job
    def welcome(user_id: int):
        return user_id

    return welcome


@pytest.fixture
def connection(url):
    with connected(url) as connection:
        connection.execute("CREATE TABLE customer (id bigint)")
        yield connection


def customers(url):
    return [number for (number,) in rows(url, "SELECT id FROM customer ORDER BY id")]


def test_a_submit_commits_together_with_the_callers_rows(app, welcome, connection, url):
    with app.transaction(connection):
        connection.execute("INSERT INTO customer VALUES (8)")
        job = app.submit(welcome, {"user_id": 8}, key="welcome:8")
        assert customers(url) == []
    assert customers(url) == [8]
    app.drain()
    assert job.output == 8


def test_a_submit_is_rolled_back_together_with_the_callers_rows(app, welcome, connection, url):
    def regret():
        with app.transaction(connection):
            connection.execute("INSERT INTO customer VALUES (8)")
            app.submit(welcome, {"user_id": 8}, key="welcome:8")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        regret()
    assert customers(url) == []
    assert app.jobs() == []
    assert rows(url, "SELECT count(*) FROM event") == [(0,)]
    assert welcome.submit({"user_id": 9}, key="welcome:8").payload == {"user_id": 9}


def test_a_worker_finds_a_job_submitted_in_a_transaction(app, welcome, connection, workers):
    workers.start()
    with app.transaction(connection):
        connection.execute("INSERT INTO customer VALUES (1)")
        job = app.submit("quick", {"number": 1})
    assert job.wait(timeout=60).status == "DONE"


def test_a_pipeline_is_submitted_with_its_stages_or_not_at_all(app, connection, url):
    film = app.pipeline("film")

    @film.stage
    def first(): ...

    @film.stage(after=first)
    def second(): ...

    def regret():
        with app.transaction(connection):
            app.submit(film)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        regret()
    assert rows(url, "SELECT count(*) FROM task") == [(0,)]
    with app.transaction(connection):
        job = app.submit(film)
    app.drain()
    assert job.status == "DONE"


def test_a_conflict_inside_a_transaction_leaves_the_caller_to_decide(app, welcome, connection, url):
    welcome.submit({"user_id": 1}, key="k")
    with app.transaction(connection):
        connection.execute("INSERT INTO customer VALUES (5)")
        with pytest.raises(KeyConflict):
            app.submit(welcome, {"user_id": 2}, key="k")
    assert customers(url) == [5]


def test_a_connection_to_something_else_is_refused(app, welcome, url, tmp_path):
    foreign = apsw.Connection(str(tmp_path / "other.db"))
    with pytest.raises(ConnectionForeign) as refused, app.transaction(foreign):
        app.submit(welcome, {"user_id": 1})
    assert refused.value.code == "CONNECTION_FOREIGN"
    foreign.close()
    with pytest.raises(ConnectionForeign), app.transaction("not a connection"):
        app.submit(welcome, {"user_id": 1})
    assert app.jobs() == []


def test_the_callers_own_outer_transaction_decides_in_the_end(app, welcome, url):
    with connected(url) as connection:
        connection.execute("CREATE TABLE customer (id bigint)")
        connection.execute("BEGIN")
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 1})
        connection.execute("ROLLBACK")
        assert app.jobs() == []
        connection.execute("BEGIN")
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 2})
        connection.execute("COMMIT")
    assert [job.payload for job in app.jobs()] == [{"user_id": 2}]
    assert isinstance(connection, apsw.Connection | psycopg.Connection)


def test_a_coroutine_in_a_transaction_does_not_draw_others_of_its_thread_into_it(app, welcome, connection):
    begun, looked = asyncio.Event(), asyncio.Event()

    async def regret():
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 1}, key="inside")
            begun.set()
            await looked.wait()
            raise ZeroDivisionError

    async def look_concurrently():
        await begun.wait()
        assert not app.store.database.is_bound
        looked.set()

    async def both():
        return await asyncio.gather(regret(), look_concurrently(), return_exceptions=True)

    assert [type(end) for end in asyncio.run(both())] == [ZeroDivisionError, type(None)]
    assert app.jobs() == []


def test_a_constraint_that_fails_at_commit_fails_in_the_callers_own_words(app, welcome, connection):
    connection.execute("CREATE TABLE parent (id integer PRIMARY KEY)")
    connection.execute("CREATE TABLE child (parent_id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    if isinstance(connection, apsw.Connection):
        connection.execute("PRAGMA foreign_keys = ON")

    def break_a_promise():
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 1}, key="inside")
            connection.execute("INSERT INTO child VALUES (7)")

    with pytest.raises((apsw.ConstraintError, psycopg.errors.ForeignKeyViolation)):
        break_a_promise()
    assert app.jobs() == []
