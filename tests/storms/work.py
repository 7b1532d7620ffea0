"""Starts one worker of a storm: `python -m tests.storms.work '{"concurrency": 5}'`, on a bad disk or clock if told."""

import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from tests.storms import disks


def misplace_clocks(seconds: float) -> None:
    """Have this process's wall clock be off; what the database says is not changed by it."""
    ours, ours_ns = time.time, time.time_ns
    time.time = lambda: ours() + seconds
    time.time_ns = lambda: ours_ns() + round(seconds * 1e9)


def prepare() -> None:
    """Do to this process what the storm says, before the engine is imported."""
    if off := os.environ.get("STORM_CLOCK_OFF"):
        misplace_clocks(float(off))
    if disk := os.environ.get("STORM_DISK"):
        disks.install(disk, Path(os.environ["WORKSHOP_FOLDER"]))


@contextlib.contextmanager
def parting() -> Iterator[None]:
    """Let go of a bad disk: SQLite takes no offence when its last checkpoint finds the file locked, but apsw does."""
    try:
        yield
    except apsw.BusyError:
        if "STORM_DISK" not in os.environ:
            raise


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    prepare()
    from tests.storms.app import app_of_this_process

    with parting():
        app_of_this_process().work(**json.loads(sys.argv[1]))


if __name__ == "__main__":
    main()
