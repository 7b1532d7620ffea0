"""What a server gives to one test after the other: a database nobody had before, and connections that are kept."""

import contextlib
import os
import threading
from functools import partial

import psycopg
import pytest

from tests.support.databases.databases import Databases
from tests.support.databases.postgres import database_name
from tests.support.databases.template import Kept
from tests.support.db import connected, one_reader, rows
from tests.support.wait import until

PID = "SELECT pg_backend_pid()"
NAMES = "SELECT datname FROM pg_database WHERE datname LIKE 'leasehold%'"


@pytest.fixture
def kept(postgres):
    with contextlib.closing(Kept(partial(psycopg.connect, postgres.url(), autocommit=True))) as kept:
        yield kept


@pytest.fixture
def made(postgres):
    """A database that `rows` reads over one connection."""
    url = postgres.create_database()
    with one_reader(url):
        yield url
    postgres.drop_database(url)


def pid(kept: Kept) -> object:
    with kept.lent() as session:
        return session.execute(PID).fetchone()


def test_a_database_is_never_given_out_again(postgres):
    with contextlib.closing(Databases(postgres)) as databases:
        first = databases.make()
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE left_behind ()")
        databases.give_back(first)
        second = databases.make()
        with psycopg.connect(second) as connection:
            assert connection.execute("SELECT to_regclass('left_behind')").fetchone() == (None,)
        assert first != second


def test_what_was_given_back_is_dropped_with_the_next_one_or_at_the_end(postgres):
    with contextlib.closing(Databases(postgres)) as databases:
        urls = [databases.make() for _ in range(3)]
        for number, url in enumerate(urls):
            databases.give_back(url)
            assert {database_name(one) for one in urls[:number]}.isdisjoint(existing(postgres))
        assert database_name(urls[-1]) in existing(postgres)
    assert {database_name(url) for url in urls}.isdisjoint(existing(postgres))


def test_a_database_is_dropped_though_somebody_still_has_a_connection_to_it(postgres):
    with contextlib.closing(Databases(postgres)) as databases:
        url = databases.make()
        leftover = psycopg.connect(url, autocommit=True)
        databases.give_back(url)
    with contextlib.closing(leftover), pytest.raises(psycopg.OperationalError):
        leftover.execute(PID)


def existing(postgres) -> set[str]:
    with psycopg.connect(postgres.url()) as connection:
        return {name for (name,) in connection.execute(NAMES)}


def test_one_connection_is_lent_again_and_again(kept):
    assert pid(kept) == pid(kept)


def test_a_caller_that_finds_the_connection_taken_gets_another(kept):
    with kept.lent() as first, kept.lent() as second:
        assert first is not second
    assert (first.closed, second.closed) == (False, True)


def test_after_an_error_nobody_meets_what_was_left_in_it(kept):
    with contextlib.suppress(RuntimeError), kept.lent() as session:
        session.execute("SET search_path = elsewhere")
        raise RuntimeError
    with kept.lent() as session:
        assert session.execute("SHOW search_path").fetchone() == ('"$user", public',)


def test_a_forked_child_uses_none_of_its_parent(kept):
    before = pid(kept)
    child = os.fork()
    if child == 0:
        os._exit(0 if pid(kept) != before else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pid(kept) == before


def test_reads_of_a_database_share_a_connection_for_as_long_as_it_is_there(postgres):
    with one_reader(postgres.url()):
        before = rows(postgres.url(), PID)
        assert rows(postgres.url(), PID) == before
    assert rows(postgres.url(), PID) != before
    until(lambda: not rows(postgres.url(), f"SELECT 1 FROM pg_stat_activity WHERE pid = {before[0][0]}"))  # noqa: S608


def test_a_read_sees_what_was_committed_a_moment_ago(made):
    with connected(made) as connection:
        connection.execute("CREATE TABLE seen (number int)")
        for number in range(20):
            connection.execute("INSERT INTO seen VALUES (%s)", [number])
            assert rows(made, "SELECT count(*) FROM seen") == [(number + 1,)]


def test_what_writes_or_sets_anything_has_a_connection_of_its_own(made):
    [reader] = rows(made, PID)
    [writer] = rows(made, "WITH own AS (SELECT pg_backend_pid()) SELECT * FROM own")
    assert reader != writer


def test_a_reader_whose_connection_was_killed_reads_on(made):
    [(before,)] = rows(made, PID)
    with connected(made) as connection:
        connection.execute(f"SELECT pg_terminate_backend({before}, 60000)")
    assert rows(made, PID) != [(before,)]


def test_readers_in_many_threads_do_not_wait_for_each_other(made):
    both = threading.Barrier(2, timeout=60)
    with connected(made) as connection:
        connection.execute("CREATE TABLE gate ()")
        with connection.transaction():
            connection.execute("LOCK TABLE gate")
            held = threading.Thread(target=lambda: (both.wait(), rows(made, "SELECT * FROM gate")))
            held.start()
            both.wait()
            waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            until(lambda: rows(made, waiting))
    held.join(60)
    assert not held.is_alive()
