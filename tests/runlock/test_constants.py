"""The runbook's constants, and that the module does not load with a time to live that is too short for them."""

import os
import shutil
import subprocess
import sys

import pytest

from leasehold import runlock
from leasehold.errors import OptionInvalid
from leasehold.runlock.constants import check_constants
from tests.runlock.command_process import ROOT

TTL = "LOCK_STALE_TTL_SECONDS: Final = 120"


def test_the_constants_are_those_of_the_runbook():
    assert runlock.LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS == 10
    assert runlock.LOCK_STALE_TTL_SECONDS == 120
    assert runlock.LOCK_STALE_RETRY_BASE_SLEEP_SECONDS == 0.05
    assert runlock.LOCK_FILE_NAME == "RUNNING.lock"
    assert (runlock.EXIT_OK, runlock.EXIT_ACTIVE_LOCK, runlock.EXIT_INVALID_LOCK, runlock.EXIT_LOCK_RACE) == (
        0,
        2,
        3,
        4,
    )


def test_a_time_to_live_of_twice_the_interval_or_less_is_refused():
    check_constants(10, 20.001)
    for ttl in (20, 19, 0, float("nan")):
        with pytest.raises(OptionInvalid, match=r"must be greater than 2 \* LOCK_HEARTBEAT"):
            check_constants(10, ttl)


@pytest.mark.parametrize(("seconds", "code"), [(21, 0), (20, 1)])
def test_the_module_refuses_to_load_with_a_time_to_live_that_is_too_short(tmp_path, seconds, code):
    shutil.copytree(ROOT / "src" / "leasehold", tmp_path / "leasehold", ignore=shutil.ignore_patterns("__pycache__"))
    constants = tmp_path / "leasehold" / "runlock" / "constants.py"
    text = constants.read_text()
    assert text.count(TTL) == 1
    constants.write_text(text.replace(TTL, TTL.replace("120", str(seconds))))
    done = subprocess.run(
        [sys.executable, "-c", "import leasehold.runlock as it; print(it.LOCK_STALE_TTL_SECONDS)"],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert done.stdout == (f"{seconds}\n" if code == 0 else "")
    assert ("must be greater than 2 * LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS" in done.stderr) == bool(code)
