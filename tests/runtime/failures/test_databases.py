"""Errors of databases that a handler uses: real PostgreSQL, real SQLite through both of its libraries."""

import contextlib
import json
import socket
import subprocess
import sys

import apsw
import psycopg
import pytest

from tests.runtime.failures.test_http import failure_of

STATEMENTS = [
    ("SELECT 1/0", "SCHEMA_INVALID", "22012"),
    ("SELEC 1", "BUG", "42601"),
    ("SELECT * FROM nowhere", "BUG", "42P01"),
    ("INSERT INTO thing VALUES (1), (1)", "CONFLICT", "23505"),
    ("INSERT INTO thing VALUES (NULL)", "SCHEMA_INVALID", "23502"),
    ("SET statement_timeout = 1; SELECT pg_sleep(60)", "NETWORK_TIMEOUT", "57014"),
    ("SELECT pg_terminate_backend(pg_backend_pid())", "UPSTREAM_UNAVAILABLE", "57P01"),
    ("DO $$ BEGIN RAISE EXCEPTION 'not on Sundays'; END $$", "POLICY_REJECTED", "P0001"),
    ("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$", "CONFLICT", "40001"),
    ("DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$", "UPSTREAM_UNAVAILABLE", "53100"),
    ("SET ROLE pg_read_all_data; CREATE TABLE thing2 (x int)", "AUTH_DENIED", "42501"),
]


@pytest.mark.parametrize(("statement", "error_class", "state"), STATEMENTS, ids=[row[2] for row in STATEMENTS])
def test_postgresql_is_read_by_its_sqlstate(postgres, statement, error_class, state):
    url = postgres.create_database()

    def act() -> None:
        with psycopg.connect(url, autocommit=True) as session:
            session.execute("CREATE TABLE thing (x int PRIMARY KEY)")
            session.execute(statement.encode())

    failure = failure_of(act)
    postgres.drop_database(url)
    assert (failure.error_class, failure.context["sqlstate"]) == (error_class, state), failure
    assert failure.retryable is (error_class in {"CONFLICT", "NETWORK_TIMEOUT", "UPSTREAM_UNAVAILABLE"})


def test_a_database_that_refuses_the_connection_is_read_by_its_text(postgres):
    url = postgres.create_database()
    absent = psycopg.conninfo.make_conninfo(url, dbname="no_such_database")
    stranger = psycopg.conninfo.make_conninfo(url, user="no_such_role")
    assert failure_of(lambda: psycopg.connect(absent)).error_class == "NOT_FOUND"
    assert failure_of(lambda: psycopg.connect(stranger)).error_class == "AUTH_DENIED"
    postgres.drop_database(url)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        assert failure_of(lambda: psycopg.connect(f"host=127.0.0.1 port={port}")).error_class == "NETWORK_RESET"


def test_two_transactions_that_wait_for_each_other_conflict(postgres):
    url = postgres.create_database()
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        first.execute("CREATE TABLE thing AS SELECT 1 AS x")
        first.commit()
        first.execute("LOCK thing")
        failure = failure_of(lambda: second.execute("LOCK thing NOWAIT"))
        second.rollback()
    postgres.drop_database(url)
    assert (failure.error_class, failure.retryable, failure.context["sqlstate"]) == ("CONFLICT", True, "55P03")


def test_sqlite_is_read_by_its_result_code(tmp_path):
    path = str(tmp_path / "things.db")
    with contextlib.closing(apsw.Connection(path)) as first, contextlib.closing(apsw.Connection(path)) as second:
        first.execute("CREATE TABLE thing (x INTEGER PRIMARY KEY, y NOT NULL); INSERT INTO thing VALUES (1, 1)")
        first.execute("BEGIN IMMEDIATE")
        busy = failure_of(lambda: second.execute("BEGIN IMMEDIATE"))
        first.execute("COMMIT")
        twice = failure_of(lambda: first.execute("INSERT INTO thing VALUES (1, 1)"))
        empty = failure_of(lambda: first.execute("INSERT INTO thing VALUES (2, NULL)"))
        wrong = failure_of(lambda: first.execute("SELECT z FROM thing"))
    assert [one.error_class for one in (busy, twice, empty, wrong)] == ["CONFLICT", "CONFLICT", "SCHEMA_INVALID", "BUG"]


def test_the_standard_librarys_sqlite_is_read_by_its_result_code():
    """In a process of its own: two SQLite libraries do not share one."""
    program = """
import json, sqlite3
from leasehold.model.failure.failure import classify
found = []
for statement in ("INSERT INTO thing VALUES (1)", "SELECT nothing", "PRAGMA max_page_count = 1", "CREATE TABLE b (x)"):
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE thing (x PRIMARY KEY)")
    base.execute("INSERT INTO thing VALUES (1)")
    base.execute("PRAGMA max_page_count = 1")
    try:
        base.execute(statement)
    except sqlite3.Error as error:
        found.append(classify(error).error_class)
print(json.dumps(found))
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert json.loads(ran.stdout) == ["CONFLICT", "BUG", "DISK_FULL"]
