"""A submit joins the transaction that people hold: SQLAlchemy's and Django's, and workers are woken by its commit."""

import contextlib
import sqlite3

import apsw
import django
import psycopg
import pytest
import sqlalchemy
from django.conf import settings
from django.db import connections, transaction
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

from leasehold.errors import ConnectionForeign, KeyConflict, Misuse
from leasehold.store import open_store
from leasehold.store.db.wake import ATTENTION
from tests.support.db import connected, rows
from tests.support.wait import until

POSTGRES = pytest.mark.parametrize("dialect", ["postgres"])
SQLITE = pytest.mark.parametrize("dialect", ["sqlite"])


class Base(orm.DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)


@pytest.fixture
def welcome(app):
    return app.job(lambda user_id: user_id, name="welcome")


@pytest.fixture
def engine(url):
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    Base.metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(url):
    """Django's own connection to the database of the test."""
    if not settings.configured:
        settings.configure(USE_TZ=True)
        django.setup()
    given = psycopg.conninfo.conninfo_to_dict(url)
    known = {"NAME": given["dbname"], "USER": given.get("user", ""), "HOST": given.get("host", "")}
    known |= {"PORT": given.get("port", ""), "PASSWORD": given.get("password", "")}
    connections.settings = connections.configure_settings(
        {"default": {}, "shop": {"ENGINE": "django.db.backends.postgresql", **known}}
    )
    connection = connections["shop"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE customer (id bigint)")
    yield connection
    connection.close()
    del connections["shop"]


@pytest.fixture
def listener(url):
    """A listener like a worker's; what begins with its connection has been received."""
    with contextlib.closing(open_store(url)) as store, contextlib.closing(store.listener()) as listener:
        if not url.startswith("sqlite"):
            until(lambda: ATTENTION in listener.wait(1))
        yield listener


def customers(url):
    return [number for (number,) in rows(url, "SELECT id FROM public.customer ORDER BY id")]


def is_woken(listener):
    return until(lambda: "default" in listener.wait(1))


@POSTGRES
def test_a_submit_in_a_session_is_committed_with_its_objects_and_wakes_workers_then(
    app, welcome, engine, url, listener
):
    with orm.Session(engine) as session:
        with app.transaction(session):
            session.add(Customer(id=8))
            job = app.submit(welcome, {"user_id": 8}, key="welcome:8")
        assert (customers(url), app.jobs(), listener.wait(0.05)) == ([], [], set())
        with session.begin_nested():
            session.add(Customer(id=9))
        assert listener.wait(0.05) == set()
        session.commit()
    assert customers(url) == [8, 9]
    assert is_woken(listener)
    app.drain()
    assert job.output == 8


@POSTGRES
def test_a_session_can_be_used_for_one_transaction_after_another(app, welcome, engine, listener):
    with orm.Session(engine) as session:
        for number in range(3):
            with app.transaction(session):
                app.submit(welcome, {"user_id": number})
            session.commit()
            assert is_woken(listener)
    assert len(app.jobs()) == 3


@POSTGRES
def test_what_is_rolled_back_in_a_session_takes_its_jobs_with_it(app, welcome, engine, url):
    with orm.Session(engine) as session:
        with app.transaction(session):
            session.add(Customer(id=1))
            app.submit(welcome, {"user_id": 1})
        session.rollback()
        with contextlib.suppress(ZeroDivisionError), app.transaction(session):
            session.add(Customer(id=2))
            app.submit(welcome, {"user_id": 2})
            session.flush()
            raise ZeroDivisionError
        assert session.get(Customer, 2) is None
        session.add(Customer(id=3))
        session.commit()
    assert (customers(url), app.jobs()) == ([3], [])


@POSTGRES
def test_a_conflict_that_is_handled_leaves_the_session_usable(app, welcome, engine, url):
    app.submit(welcome, {"user_id": 1}, key="k")
    with orm.Session(engine) as session, session.begin():
        with app.transaction(session), pytest.raises(KeyConflict):
            app.submit(welcome, {"user_id": 2}, key="k")
        session.add(Customer(id=1))
    assert customers(url) == [1]


@POSTGRES
def test_a_scoped_session_and_a_connection_of_sqlalchemy_are_joined_too(app, welcome, engine, url, listener):
    scoped = orm.scoped_session(orm.sessionmaker(engine))
    with app.transaction(scoped):
        scoped.add(Customer(id=1))
        app.submit(welcome, {"user_id": 1})
    scoped.commit()
    assert is_woken(listener)
    with engine.connect() as connection:
        with app.transaction(connection):
            connection.execute(sqlalchemy.insert(Customer).values(id=2))
            app.submit(welcome, {"user_id": 2})
        assert (customers(url), listener.wait(0.05)) == ([1], set())
        connection.commit()
        assert is_woken(listener)
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 3})
        connection.rollback()
    scoped.remove()
    assert (customers(url), len(app.jobs())) == ([1, 2], 2)


@POSTGRES
def test_a_submit_in_djangos_transaction_lives_and_dies_with_it(app, welcome, connection, url, listener):
    def regret():
        with transaction.atomic(using="shop"):
            with app.transaction(connection):  # the first thing there: nothing may be committed at its end
                app.submit(welcome, {"user_id": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        regret()
    assert app.jobs() == []
    with transaction.atomic(using="shop"):
        with app.transaction(connection), connection.cursor() as cursor:
            cursor.execute("INSERT INTO customer VALUES (%s)", [2])
            job = app.submit(welcome, {"user_id": 2})
        assert (customers(url), app.jobs(), listener.wait(0.05)) == ([], [], set())
    assert customers(url) == [2]
    assert is_woken(listener)
    app.drain()
    assert job.output == 2


@POSTGRES
def test_a_block_outside_djangos_transactions_is_one(app, welcome, connection, url, listener):
    def regret():
        with app.transaction(connection), connection.cursor() as cursor:
            cursor.execute("INSERT INTO customer VALUES (1)")
            app.submit(welcome, {"user_id": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        regret()
    with app.transaction(connection), connection.cursor() as cursor:
        cursor.execute("INSERT INTO customer VALUES (2)")
        app.submit(welcome, {"user_id": 2})
    assert is_woken(listener)
    assert (customers(url), [job.payload for job in app.jobs()]) == ([2], [{"user_id": 2}])
    assert connection.get_autocommit()


def test_workers_are_woken_by_the_commit_of_a_transaction_that_the_caller_ends_later(app, welcome, url, listener):
    with connected(url) as connection:
        connection.execute("BEGIN")
        with app.transaction(connection), app.transaction(connection):
            app.submit(welcome, {"user_id": 1})
        assert listener.wait(0.05) == set()
        connection.execute("COMMIT")
        assert is_woken(listener)
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 2})
        assert is_woken(listener)
        connection.execute("BEGIN")
        with app.transaction(connection):
            app.submit(welcome, {"user_id": 3})
        connection.execute("ROLLBACK")
    assert len(app.jobs()) == 2


def test_workers_are_woken_for_what_the_act_of_an_effect_submits(app, welcome, listener):
    @app.job(queue="acts")
    def act(task):
        task.transaction("SUBMIT", lambda _: app.submit(welcome, {"user_id": 1}).id)

    act.submit()
    app.drain(queues=["acts"])
    assert is_woken(listener)


def cursor_of(url):
    with psycopg.connect(url) as connection:
        return connection.cursor()


def closed(connection):
    """What it is shows without being open."""
    connection.close()
    return connection


def async_engine_of(url):
    return sqlalchemy_asyncio.create_async_engine(url.replace("postgresql", "postgresql+psycopg"))


REFUSALS = {
    "an async session": lambda url: sqlalchemy_asyncio.AsyncSession(),
    "a session on an async engine": lambda url: sqlalchemy_asyncio.AsyncSession(async_engine_of(url)).sync_session,
    "an engine": lambda url: sqlalchemy.create_engine("postgresql+psycopg://"),
    "a maker of sessions": lambda url: orm.sessionmaker(),
    "another database": lambda url: orm.Session(sqlalchemy.create_engine("sqlite://")),
    "sqlite3": lambda url: closed(sqlite3.connect(":memory:")),
    "Django's handler": lambda url: connections,
    "a cursor": cursor_of,
    "a string": lambda url: url,
}
LINES = {
    "an async session": "create_engine('postgresql+psycopg://…')",
    "a session on an async engine": "create_engine('postgresql+psycopg://…')",
    "an engine": "with Session(engine) as session, app.transaction(session):",
    "a maker of sessions": "with maker() as session, app.transaction(session):",
    "another database": "psycopg.connect(…)",
    "sqlite3": "psycopg.connect(…)",
    "Django's handler": "django.db.connections['default']",
    "a cursor": "app.transaction(cursor.connection)",
    "a string": "psycopg.connect(…)",
}


@POSTGRES
@pytest.mark.parametrize("what", REFUSALS)
def test_what_cannot_be_joined_is_refused_with_the_line_that_works(app, welcome, url, what):
    held = REFUSALS[what](url)
    with pytest.raises(ConnectionForeign) as refused, app.transaction(held):
        pytest.fail("it was let in")
    assert LINES[what] in str(refused.value)
    assert app.jobs() == []


@POSTGRES
def test_a_connection_that_commits_each_statement_is_refused(app, engine):
    with (
        engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        pytest.raises(Misuse, match="AUTOCOMMIT"),
        app.transaction(connection),
    ):
        pytest.fail("it was let in")


@SQLITE
@pytest.mark.parametrize("held", ["session", "django", "sqlite3"])
def test_on_sqlite_a_second_library_is_refused_before_it_opens_the_file(app, welcome, tmp_path, held):
    connections.settings = connections.configure_settings(
        {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": tmp_path / "leasehold.db"}}
    )
    known = {
        "session": lambda: orm.Session(sqlalchemy.create_engine(f"sqlite:///{tmp_path}/leasehold.db")),
        "django": lambda: connections["default"],
        "sqlite3": lambda: closed(sqlite3.connect(":memory:")),
    }
    with pytest.raises(ConnectionForeign, match=r"apsw\.Connection"), app.transaction(known[held]()):
        pytest.fail("it was let in")
    with contextlib.closing(apsw.Connection(str(tmp_path / "leasehold.db"))) as mine, app.transaction(mine):
        app.submit(welcome, {"user_id": 1})
    assert len(app.jobs()) == 1
