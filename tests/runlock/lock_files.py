"""Locks for tests: written without the engine, at times of the tests' own."""

import json
import os
from pathlib import Path

from leasehold.clock import SECOND
from leasehold.runlock import acquire, heartbeat, release
from leasehold.runlock.payload import text_of

NOON = 1_800_000_000 * SECOND
FIELDS = {
    "pid": 4_711,
    "host": "elsewhere",
    "started_at": "2027-01-15T07:00:00Z",
    "last_heartbeat_at": "2027-01-15T08:00:00Z",  # that is NOON
    "run_id": "run-7",
}


def at(seconds=0.0):
    """Return a clock that stands so many seconds after noon."""
    return lambda: NOON + round(seconds * SECOND)


def write_lock(run_dir: Path, seconds=0.0, **changed) -> bytes:
    """Write a lock whose last heartbeat was so many seconds after noon; return its bytes."""
    fields = FIELDS | {"last_heartbeat_at": text_of(at(seconds)())} | changed
    return write_raw(run_dir, json.dumps(fields, indent=2).encode())


def write_raw(run_dir: Path, content: bytes) -> bytes:
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "RUNNING.lock").write_bytes(content)
    return content


def lock_of(run_dir: Path) -> dict:
    return json.loads((run_dir / "RUNNING.lock").read_bytes())


def archives(run_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(run_dir.glob("RUNNING.stale.*"))}


def traces(run_dir: Path) -> dict[str, tuple]:
    """Return what a change of any file in a folder would change; the guard means nothing."""
    found = {}
    for path in sorted(run_dir.iterdir()):
        if path.name != "RUNNING.guard":
            summary = os.lstat(path)
            found[path.name] = (summary.st_ino, summary.st_mode, summary.st_size, summary.st_nlink, summary.st_mtime_ns)
    return found


def check_usable(run_dir: Path, seconds: float) -> None:
    """See that a run can start here by itself at this time, and lives a whole life."""
    lock = acquire(run_dir, "next", now=at(seconds), audit=lambda line: None)
    lock = heartbeat(lock, now=at(seconds + 10))
    assert lock_of(run_dir)["run_id"] == "next"
    release(lock)
    assert {path.name for path in run_dir.iterdir()} - set(archives(run_dir)) == {"RUNNING.guard"}
