"""An old snapshot held open while the work goes on: slower is allowed, wrong is not; the rates are reported."""

import contextlib
import time
from collections.abc import Iterator

import apsw
import psycopg
import pytest

from tests.chaos.final_checks import check_storm
from tests.chaos.storm import Storm
from tests.support.wait import until


@contextlib.contextmanager
def snapshot(url: str) -> Iterator[None]:
    """Read once, and go on seeing that, so that nothing that dies from here on can be cleared away."""
    if url.startswith("sqlite"):
        with contextlib.closing(apsw.Connection(url.removeprefix("sqlite:///"))) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM task").fetchall()
            yield
        return
    with psycopg.connect(url) as session:
        session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT count(*) FROM leasehold.task")
        yield
        session.rollback()


def rate(storm: Storm, seconds: float) -> float:
    """Let the storm go on for a while; return how many attempts returned in a second."""
    before, began = storm.returned(), time.monotonic()
    until(lambda: time.monotonic() - began >= seconds, timeout=2 * seconds + 60, every=0.1)
    return round((storm.returned() - before) / (time.monotonic() - began), 1)


def check_snapshot(storm: Storm, seconds: float, kills: int) -> None:
    storm.begin(workers=2)
    storm.measured["rate before"] = rate(storm, seconds / 4)
    with snapshot(storm.url):
        storm.faults["snapshot held open"] += 1
        storm.measured["rate at first"] = rate(storm, seconds / 4)
        storm.measured["rate at last"] = rate(storm, seconds)
        storm.measured["snapshot seconds"] = seconds * 1.25
        for _ in range(kills):
            storm.kill_holder()
            storm.progress(10)
    proof = check_storm(storm)
    assert proof.measured["rate at last"] > 0


def test_l1_work_goes_on_and_ends_under_a_snapshot_that_is_held_open(make_storm, url):
    check_snapshot(make_storm("old snapshot", url), 1.0, 1)


@pytest.mark.soak
def test_l1_work_goes_on_and_ends_under_a_snapshot_that_is_held_open_for_minutes(make_storm, url):
    check_snapshot(make_storm("old snapshot", url, lease=3.0, long=True), 240.0, 20)
