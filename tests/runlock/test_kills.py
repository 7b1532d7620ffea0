"""A kill at any call of the file system leaves what the next start handles by itself. Where strace is installed."""

import json
import signal
import subprocess
import sys

import pytest

from leasehold.runlock import RunActive, acquire, release
from tests.runlock.command_process import ROOT
from tests.runlock.kill_at_each_call import STALE_SECONDS
from tests.runlock.lock_files import archives, at, check_usable, write_lock
from tests.support.needs import STRACE, find_program

# Calls that such a change cannot do without: a trace that has fewer has missed what it should see.
NEEDED = {
    "acquire": {"mkdir": 1, "openat": 4, "flock": 2, "write": 2, "fsync": 2},
    "takeover": {"openat": 6, "flock": 4, "read": 1, "write": 2, "fsync": 2, "unlink": 1},
    "heartbeat": {"openat": 3, "flock": 2, "read": 2, "write": 1, "fsync": 1},
    "release": {"openat": 3, "flock": 2, "read": 2, "unlink": 1},
}


@pytest.mark.soak
def test_long_runs_have_an_strace_to_kill_with():
    assert STRACE.is_there, STRACE.reason


def killed(strace, change, root):
    """Have the change killed at each of its calls; return the folders that were left."""
    command = [sys.executable, "-m", "tests.runlock.kill_at_each_call", strace, change, str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((root / "kills.json").read_text())
    assert {name: count for name, count in NEEDED[change].items() if summary["whole"].count(name) < count} == {}
    assert {kill["status"] for kill in summary["kills"]} == {-signal.SIGKILL}
    assert sorted(kill["before"] for kill in summary["kills"]) == list(range(len(summary["whole"])))
    return [root / kill["folder"] for kill in summary["kills"]]


def check_early(run_dir):
    """See that a start within the time to live finds the lock fresh, or none, or a stale one: never an invalid one."""
    stood = (run_dir / "RUNNING.lock").exists()
    try:
        lock = acquire(run_dir, "early", now=at(20), audit=lambda line: None)
    except RunActive:
        assert stood
        return
    release(lock)


@pytest.mark.parametrize("change", ["acquire", "takeover", "heartbeat", "release"])
@pytest.mark.parametrize("strace", [STRACE.param(find_program("strace"))])
def test_s15_a_kill_at_any_call_of_the_file_system_needs_nobody_to_clean_up(tmp_path, strace, change):
    stale = write_lock(tmp_path / "sample", STALE_SECONDS)
    for run_dir in killed(strace, change, tmp_path):
        check_early(run_dir)
        check_usable(run_dir, 200)
        kept = list(archives(run_dir).values()) if run_dir.exists() else []
        assert kept.count(stale) == (change == "takeover"), run_dir
        assert len(kept) <= 1 + (change == "takeover"), run_dir
