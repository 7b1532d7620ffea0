"""A disk that is full for a while, one that does not sync, and power cuts: what was acknowledged stays there."""

import contextlib
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw
import pytest

from tests.chaos.final_checks import check_storm
from tests.chaos.storm import Storm, last_until
from tests.chaos.workers import STARTED
from tests.conftest import sqlite_url
from tests.support.databases.postgres import PostgresServer
from tests.support.disks import power_loss
from tests.support.disks.faulty_disk import Platter
from tests.support.disks.small_disk import SmallDisk, small_disk
from tests.support.wait import until


@pytest.fixture
def dialect() -> str:
    """What lies below SQLite can be replaced; PostgreSQL has a full disk of its own, further below."""
    return "sqlite"


def failures(storm: Storm) -> int:
    """Count the times that a part of a worker reported a failing database."""
    words = ("DATABASE_UNAVAILABLE", "DatabaseUnavailable", "DISK_FULL", "DiskFull")
    return sum(worker.log.count(word) for worker in storm.processes.all for word in words)


def await_failure(storm: Storm) -> None:
    before = failures(storm)
    until(lambda: failures(storm) > before, timeout=120, every=0.05)


def lose_a_worker(storm: Storm) -> None:
    """Kill a worker with leases in hand, and wait until the next is at work: none can begin on a full disk."""
    storm.kill_holder()
    until(lambda: all(STARTED in worker.log for worker in storm.processes.workers))


def check_full_disk(storm: Storm, times: int) -> None:
    """Full right after a kill, every other time for longer than a lease lasts; that time is not counted."""
    storm.begin(workers=2, STORM_DISK="full")
    for number in range(times):
        lose_a_worker(storm)
        since, full = storm.now(), time.monotonic()
        (storm.folder / "disk-full").touch()
        await_failure(storm)
        last_until(full + number % 2 * 1.2 * storm.lease)
        (storm.folder / "disk-full").unlink()
        storm.returned_from("disk full", since)
        storm.progress(5)
    check_storm(storm)


def test_s3_a_disk_that_is_full_for_a_while_loses_nothing_that_was_acknowledged(make_storm, url):
    check_full_disk(make_storm("full disk", url, lease=1.0), 2)


@pytest.mark.soak
def test_s3_a_disk_that_is_full_again_and_again_loses_nothing(make_storm, url):
    check_full_disk(make_storm("full disk", url, lease=2.0, long=True), 100)


def check_deaf_disk(storm: Storm, errors: int, kills: int) -> None:
    """The kills are spread among the errors."""

    def failed() -> int:
        return len(list(storm.folder.glob("deaf-*")))

    def has_failed(times: int) -> bool:
        return failed() >= times

    storm.begin(workers=2, STORM_DISK="deaf")
    (storm.folder / "disk-deaf").touch()
    for number in range(1, kills + 1):
        enough = errors * number // kills
        until(partial(has_failed, enough), timeout=3_600, every=0.05)
        storm.kill_holder()
    (storm.folder / "disk-deaf").unlink()
    storm.faults["fsync errors"] = failed()
    storm.progress(5)
    check_storm(storm)


def test_s3_a_commit_that_the_disk_did_not_sync_is_not_acknowledged_and_nothing_is_lost(make_storm, url):
    check_deaf_disk(make_storm("fsync errors", url, lease=2.0), 4, 1)


@pytest.mark.soak
def test_s3_hundreds_of_commits_that_the_disk_did_not_sync_lose_nothing(make_storm, url):
    check_deaf_disk(make_storm("fsync errors", url, lease=2.0, long=True), 500, 20)


def check_power_cuts(storm: Storm, folder: Path, cuts: int) -> None:
    """Every process is gone at once, and of what was written only what was synced is certain to be there.

    Nobody is there to pick up anything before there is power again.
    """
    storm.prepare()
    for _ in range(cuts):
        base = power_loss.read(folder, "leasehold.db")
        storm.join(workers=2, STORM_DISK="platter")
        storm.progress(storm.dice.randrange(2, 12))
        for worker in storm.processes.all:
            worker.kill()
        since = storm.now()
        storm.faults["sectors lost"] += power_loss.after_the_cut(folder, storm.folder / "platter", base, storm.dice)
        storm.returned_from("power cut", since, is_deadly=True)
        storm.owed += 1  # two workers had work enough
    check_storm(storm)


def test_s3_what_was_acknowledged_is_there_after_the_power_went(make_storm, url, tmp_path):
    check_power_cuts(make_storm("power loss", url), tmp_path, 2)


@pytest.mark.soak
def test_s3_what_was_acknowledged_is_there_after_the_power_went_again_and_again(make_storm, url, tmp_path):
    check_power_cuts(make_storm("power loss", url, lease=3.0, long=True), tmp_path, 200)


@pytest.mark.parametrize(("synchronous", "kept"), [("FULL", 50), ("OFF", 0)])
def test_a_power_cut_takes_what_was_not_synced_and_nothing_else(make_storm, tmp_path, synchronous, kept):
    """That the storms above would show a lost commit is shown by a connection that does not sync."""
    path = tmp_path / "plain.db"
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("CREATE TABLE kept (number)")
    base = power_loss.read(tmp_path, "plain.db")
    disk = Platter(tmp_path, default=False)
    with contextlib.closing(apsw.Connection(str(path), vfs=disk.name)) as connection:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        for number in range(50):
            connection.execute("INSERT INTO kept VALUES (?)", (number,))
        copied = (tmp_path / "platter").read_bytes()
    (tmp_path / "platter").write_bytes(copied)
    power_loss.after_the_cut(tmp_path, tmp_path / "platter", base, NoChance())
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(kept,)]
    disk.unregister()


class NoChance(random.Random):
    """Nothing that was not synced is left."""

    def random(self) -> float:
        return 1.0


def check_really_full(storm: Storm, disk: SmallDisk, times: int, mend: Callable[[], None]) -> None:
    """`mend` does what a person would do when there is room again."""
    storm.begin(workers=2)
    for _ in range(times):
        lose_a_worker(storm)
        since = storm.now()
        disk.fill()
        await_failure(storm)
        disk.clear()
        mend()
        storm.returned_from("disk full", since)
        storm.progress(5)
    check_storm(storm)


@pytest.mark.soak
def test_s3_sqlite_on_a_disk_that_is_really_full_loses_nothing(make_storm):
    with small_disk(16) as disk:
        storm = make_storm("full disk, tmpfs", sqlite_url(disk.folder), lease=2.0, long=True)
        check_really_full(storm, disk, 10, lambda: None)
        storm.close()


@pytest.mark.soak
def test_s3_postgresql_on_a_disk_that_is_really_full_loses_nothing(make_storm, postgres):
    """The server may give up; then it is started again once there is room."""
    with small_disk(160) as disk, PostgresServer(binaries=postgres.binaries, home=disk.folder) as server:

        def mend() -> None:
            if not server.running:
                server.stop("immediate")
                server.start()

        storm = make_storm("full disk, tmpfs", server.create_database(), lease=2.0, long=True)
        check_really_full(storm, disk, 10, mend)
        storm.close()
