"""Workers whose clocks are an hour apart and jump: only the database's clock decides, so nothing may break.

The short form sets the clock that Python reads in each worker; the long form puts libfaketime around whole processes.
"""

import signal
import time
from pathlib import Path

import pytest

from tests.storms.ending import check_storm
from tests.storms.nursery import Nursery
from tests.storms.storm import Storm

HOUR = 3_600
PLACES = ("/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1")


def check_jumps(storm: Storm, jumps: int, environments: list[dict[str, str]]) -> None:
    """Replace workers by turns; each that comes has another clock than the one that goes."""
    storm.prepare()
    for environment in environments:
        storm.company.hire(environment)
    storm.company.hire_submitter(environments[1])
    storm.progress(5)
    for number in range(jumps):
        hand = storm.holder()
        storm.faults["clock jump"] += 1
        storm.company.hire(environments[number % len(environments)])
        hand.signal(signal.SIGTERM)
        assert hand.end() == 0
        storm.progress(5)
    check_storm(storm)


def test_s1_s5_workers_with_clocks_an_hour_apart_share_the_work_as_if_they_were_not(make_storm, url):
    off = [{"STORM_CLOCK_OFF": str(seconds)} for seconds in (0, HOUR, -HOUR)]
    check_jumps(make_storm("clocks an hour apart", url, lease=5.0), 2, off)


def libfaketime() -> Path:
    found = [path for place in PLACES for path in Path("/").glob(place.lstrip("/"))]
    if not found:
        raise FileNotFoundError("This storm needs libfaketime. On Debian: apt install libfaketime")
    return found[0]


def hours_off(nursery: Nursery) -> int:
    return round((nursery.ask({"clock": True}) - time.time()) / HOUR)


@pytest.mark.soak
def test_s1_s5_processes_with_clocks_an_hour_apart_and_jumping_share_the_work(make_storm, url, tmp_path):
    """One clock is right, one an hour ahead, one an hour behind, and one jumps between the three."""
    storm = make_storm("clocks jumping, libfaketime", url, lease=5.0, patient=True)
    library = {"LD_PRELOAD": str(libfaketime()), "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}
    jumping = tmp_path / "jumping"
    jumping.write_text("+0s")
    ahead = storm.company.open_nursery(library | {"FAKETIME": "+3600s"})
    behind = storm.company.open_nursery(library | {"FAKETIME": "-3600s"})
    jumper = storm.company.open_nursery(library | {"FAKETIME_TIMESTAMP_FILE": str(jumping)})
    assert [hours_off(nursery) for nursery in (ahead, behind, jumper)] == [1, -1, 0]
    storm.begin(workers=1)
    for nursery in (ahead, behind, jumper):
        storm.company.hire(nursery=nursery)
    for number in range(60):
        hours = (1, -1, 0)[number % 3]
        jumping.write_text(f"{hours * HOUR:+d}s")
        storm.faults["clock jump"] += 1
        storm.progress(30)
        assert hours_off(jumper) == hours
    check_storm(storm)
