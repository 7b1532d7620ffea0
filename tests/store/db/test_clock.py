"""The one clock that decides: it stands still when a test wants, and never goes back."""

import contextlib
import threading

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold import clock as time
from leasehold.store import open_store
from leasehold.store.db import sqlite_clock
from leasehold.store.db.sqlite_clock import Anchor, Reading
from leasehold.testing import Clock
from tests.conftest import sqlite_url
from tests.store.work import claim_one, finish, look, register, submit
from tests.support.properties import examples

HOUR = 3600 * time.SECOND
NOON = 1_800_000_000 * time.SECOND


def test_the_clock_goes_on_by_itself(store):
    first = store.reports.health().now
    assert abs(first - time.wall()) < HOUR
    assert store.reports.health().now >= first


def test_a_stopped_clock_is_the_same_for_every_process(store, url):
    clock = Clock(store)
    clock.set(NOON)
    with contextlib.closing(open_store(url)) as other:
        assert store.reports.health().now == other.reports.health().now == NOON
        clock.advance(1.5)
        assert other.reports.health().now == clock.now == NOON + 1_500_000


def test_every_time_that_is_stored_comes_from_the_databases_clock(store):
    clock = Clock(store)
    clock.set(NOON)
    worker = register(store)
    (task,) = submit(store, "k")
    finish(store, [claim_one(store, worker)])
    assert {line.at for line in store.reports.events(task)} == {NOON}
    row = store.reports.job(task)
    assert (row.created_at, row.finished_at) == (NOON, NOON)


def test_one_operation_has_one_time(store):
    """All that one transaction writes happened at the same moment."""
    submit(store, *[str(number) for number in range(500)])
    assert look(store, "SELECT count(DISTINCT at) FROM event") == [(1,)]
    assert look(store, "SELECT count(DISTINCT created_at) FROM task") == [(1,)]


def reading(wall: int, uptime: int, boot="b") -> Reading:
    return Reading(boot, wall, uptime)


def clock_after(anchor: Anchor | None, host: Reading, last: int = 0) -> tuple[int, Anchor]:
    """Return the time as a session reads it, and what the file then holds."""
    if anchor is None or sqlite_clock.is_stale(anchor, host):
        anchor = sqlite_clock.make_anchor(anchor, host, last)
    return sqlite_clock.now(anchor, host), sqlite_clock.decode(sqlite_clock.encode(anchor))


def test_a_wall_clock_that_falls_back_is_not_followed():
    now, anchor = clock_after(None, reading(NOON, 100))
    later, anchor = clock_after(anchor, reading(NOON - HOUR, 100 + time.SECOND))
    assert (now, later) == (NOON, NOON + time.SECOND)
    assert clock_after(anchor, reading(NOON - HOUR, 100 + HOUR))[0] == NOON + HOUR


def test_a_wall_clock_that_runs_ahead_is_followed_by_all():
    _, anchor = clock_after(None, reading(NOON, 100))
    ahead, anchor = clock_after(anchor, reading(NOON + HOUR, 101))
    assert ahead == NOON + HOUR
    assert clock_after(anchor, reading(NOON, 102))[0] == NOON + HOUR + 1


def test_a_wall_clock_a_little_ahead_moves_nothing():
    _, anchor = clock_after(None, reading(NOON, 100))
    assert clock_after(anchor, reading(NOON + time.SECOND // 2, 101))[0] == NOON + 1


def test_after_a_reboot_the_clock_starts_from_the_wall_or_the_journal():
    _, anchor = clock_after(None, reading(NOON, 100))
    assert clock_after(anchor, reading(NOON + HOUR, 1, "other"), NOON + 5)[0] == NOON + HOUR
    assert clock_after(anchor, reading(NOON - HOUR, 1, "other"), NOON + 5)[0] == NOON + 5


def test_a_machine_that_does_not_name_its_boots_never_goes_behind_its_journal():
    _, anchor = clock_after(None, reading(NOON, 100, ""))
    assert clock_after(anchor, reading(NOON - HOUR, 200, ""), NOON + 7)[0] == NOON + 7


def test_a_clock_set_by_a_test_does_not_advance():
    anchor = Anchor(manual=NOON)
    assert not sqlite_clock.is_stale(anchor, reading(0, 0))
    assert sqlite_clock.now(anchor, reading(NOON + HOUR, 5)) == NOON


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, HOUR), st.integers(-2 * HOUR, 2 * HOUR)), max_size=30))
def test_whatever_the_wall_clock_does_time_passes_at_least_as_fast_as_on_the_bench(moves):
    """A lease taken at any moment is over, at the latest, when its own length has passed for real."""
    uptime, wall = 1000, NOON
    now, anchor = clock_after(None, reading(wall, uptime))
    for passed, jump in moves:
        uptime, wall = uptime + passed, max(0, wall + passed + jump)
        later, anchor = clock_after(anchor, reading(wall, uptime))
        assert later - now >= passed
        now = later


def write_anchor(path, anchor: Anchor) -> None:
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        stored = (sqlite_clock.encode(anchor),)
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('clock', ?)", stored)


@pytest.mark.parametrize("ahead", [HOUR, 48 * HOUR])
def test_a_lease_taken_before_the_host_clock_fell_back_ends_on_time(tmp_path, ahead):
    """The file as a host left it whose clock was ahead and was then set back: the lease is not longer for it."""
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()
        write_anchor(tmp_path / "leasehold.db", Anchor(time.boot_id(), time.wall() + ahead, time.uptime()))
        worker = register(store)
        submit(store, "k", lease_ms=100)
        lease = claim_one(store, worker)
        assert store.reports.health().now >= time.wall() + ahead - HOUR // 60
        expires_at = look(store, "SELECT expires_at FROM lease")[0][0]
        assert expires_at - store.reports.health().now <= 100_000
        pause = threading.Event()
        while not store.losses.expired():
            pause.wait(0.01)
        assert finish(store, [lease]) == []


def test_the_anchor_follows_a_host_clock_that_was_set_forward(tmp_path):
    with contextlib.closing(open_store(sqlite_url(tmp_path))) as store:
        store.migrate()
        write_anchor(tmp_path / "leasehold.db", Anchor(time.boot_id(), time.wall() - HOUR, time.uptime()))
        submit(store, "k")
        assert abs(store.reports.health().now - time.wall()) < HOUR // 60
        stored = sqlite_clock.decode(look(store, "SELECT value FROM meta WHERE name = 'clock'")[0][0])
        assert abs(stored.wall - time.wall()) < HOUR // 60
