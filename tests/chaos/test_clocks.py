"""Workers whose clocks are an hour apart and jump: only the database's clock decides, so nothing may break.

The short form moves the clock that Python reads, in workers that go on; the long form puts libfaketime around whole
processes. A SQLite file's clock follows one that runs ahead, so faults are noted by the file's clock and not by ours.
"""

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from leasehold import clock
from leasehold.store.db import sqlite_clock
from tests.chaos.final_checks import check_storm
from tests.chaos.storm import Storm
from tests.chaos.workers import StormProcess
from tests.support.db import rows
from tests.support.wait import until

HOUR = 3_600
HOURS = (0, 1, -1)
PLACES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")


def database_now(url: str) -> int:
    """Return the time by the clock that decides."""
    if not url.startswith("sqlite"):
        return int(rows(url, "SELECT leasehold_now()")[0][0])
    anchor = sqlite_clock.decode(rows(url, "SELECT value FROM meta WHERE name = 'clock'")[0][0])
    return anchor.wall + clock.uptime() - anchor.uptime


@pytest.fixture
def make_clock_storm(make_storm, url):
    """Makes a storm that takes its time from the database."""

    def make(name: str, **options) -> Storm:
        storm = make_storm(name, url, lease=5.0, **options)
        storm.now = lambda: database_now(url)
        return storm

    return make


class ClockedWorker:
    """A worker and the clock that only it reads."""

    def __init__(self, storm: Storm, number: int) -> None:
        self._path = storm.folder / f"clock-{number}"
        self.set(0)
        self.process: StormProcess = storm.processes.start_worker({"STORM_CLOCK": str(self._path)})

    def set(self, seconds: int) -> None:
        """Have the clock jump."""
        draft = self._path.with_suffix(".draft")
        draft.write_text(str(seconds))
        os.replace(draft, self._path)  # noqa: PTH105 — there whole at any moment

    def has_reported(self, seconds: int) -> bool:
        """Whether the process has read this time since it was set."""
        reported = self._path.with_name(f"{self._path.name}-seen-{self.process.pid}")
        return reported.exists() and reported.read_text() == str(seconds)


def check_jumps(storm: Storm, jumps: int) -> None:
    """Every worker's clock is right at first and then jumps by hours, forth and back; nobody is replaced meanwhile."""
    storm.prepare()
    workers = [ClockedWorker(storm, number) for number in range(len(HOURS))]
    storm.processes.start_submitter(storm.processes.environment_of(workers[1].process))
    storm.progress(5)
    for number in range(1, jumps + 1):
        for place, worker in enumerate(workers):
            seconds = HOURS[(place + number) % len(HOURS)] * HOUR
            worker.set(seconds)
            until(partial(worker.has_reported, seconds))
            storm.faults["clock jump"] += 1
        storm.progress(5)
    assert {process.pid for process in storm.processes.workers} == {worker.process.pid for worker in workers}
    storm.kill_holder()
    check_storm(storm)


def test_s1_s5_workers_whose_clocks_jump_by_hours_share_the_work_as_if_they_did_not(make_clock_storm):
    check_jumps(make_clock_storm("clocks jumping"), 3)


def libfaketime() -> Path:
    found = [path for place in PLACES for path in Path("/").glob(place.lstrip("/"))]
    if not found:
        raise FileNotFoundError("This storm needs libfaketime. On Debian: apt install libfaketime")
    return found[0]


def hours_off(environment: dict[str, str]) -> int:
    """Return how wrong the clock of a process with this environment is."""
    words = [sys.executable, "-c", "import time; print(time.time())"]
    shown = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=True).stdout
    return round((float(shown) - time.time()) / HOUR)


@pytest.mark.soak
def test_s1_s5_processes_with_clocks_an_hour_apart_and_jumping_share_the_work(make_clock_storm, tmp_path):
    """One clock is right, one an hour ahead, one an hour behind, and one jumps between the three."""
    storm = make_clock_storm("clocks jumping, libfaketime", long=True)
    library = {"LD_PRELOAD": str(libfaketime()), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}
    jumping = tmp_path / "jumping"
    jumping.write_text("+0s")
    ahead = library | {"FAKETIME": "+3600s"}
    behind = library | {"FAKETIME": "-3600s"}
    jumper = library | {"FAKETIME_TIMESTAMP_FILE": str(jumping)}
    assert [hours_off(environment) for environment in (ahead, behind, jumper)] == [1, -1, 0]
    storm.begin(workers=1)
    for environment in (ahead, behind, jumper):
        storm.processes.start_worker(environment)
    for number in range(60):
        hours = (1, -1, 0)[number % 3]
        jumping.write_text(f"{hours * HOUR:+d}s")
        storm.faults["clock jump"] += 1
        storm.progress(30)
        assert hours_off(jumper) == hours
        if number % 3 == 2:
            storm.kill_holder()
    check_storm(storm)
