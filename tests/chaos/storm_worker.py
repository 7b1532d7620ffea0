"""Starts one worker of a storm: `python -m tests.chaos.storm_worker '{"concurrency": 5}'` on any disk and clock."""

import contextlib
import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from leasehold.errors import Unavailable
from tests.support.disks import faulty_disk

RETRY_SECONDS = 0.1


class ShiftedClock:
    """This process's wall clock, shifted by the seconds in a file; the clock of the database is not changed by it.

    A second file, one for each process, holds the shift that was read last: it shows that the clock has jumped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reported = path.with_name(f"{path.name}-seen-{os.getpid()}")
        self._last = ""

    def seconds(self) -> float:
        text = self._path.read_text()
        if text != self._last:
            self._last = text
            self._reported.write_text(text)
        return float(text)

    def install(self) -> None:
        """Have everybody in this process ask here."""
        ours, ours_ns = time.time, time.time_ns
        time.time = lambda: ours() + self.seconds()
        time.time_ns = lambda: ours_ns() + round(self.seconds() * 1e9)


def mend_sleep() -> None:
    """Have this process sleep in another way: under libfaketime 0.9.10 Python's own ends at once, with EINVAL."""

    def sleep(seconds: Any) -> None:
        select.select([], [], [], seconds)

    time.sleep = sleep


def hasten_relays(seconds: float) -> None:
    """Have this process's relays keep a delivery for seconds and not for two minutes, in the same proportions."""
    from leasehold.runtime import limits

    share = seconds / limits.DELIVERY_LEASE_SECONDS
    for name in ("DELIVERY_LEASE_SECONDS", "DELIVERY_RENEW_SECONDS", "DELIVERY_MARGIN_SECONDS"):
        setattr(limits, name, getattr(limits, name) * share)


def prepare() -> None:
    """Set this process up as the storm asks, before it does anything else."""
    if path := os.environ.get("STORM_CLOCK"):
        ShiftedClock(Path(path)).install()
    if "faketime" in os.environ.get("LD_PRELOAD", ""):
        mend_sleep()
    if disk := os.environ.get("STORM_DISK"):
        faulty_disk.install(disk, Path(os.environ["WORKSHOP_FOLDER"]))
    if seconds := os.environ.get("STORM_CLAIM_SECONDS"):
        hasten_relays(float(seconds))


@contextlib.contextmanager
def ignoring_busy_disk() -> Iterator[None]:
    """Let go of a bad disk: SQLite takes no offence when its last checkpoint finds the file locked, but apsw does."""
    try:
        yield
    except apsw.BusyError:
        if "STORM_DISK" not in os.environ:
            raise


def work(options: dict[str, Any]) -> None:
    """Work until asked to stop; on a bad disk, where nobody may be able to begin, try that again as a watcher would."""
    from tests.support.apps.chaos import app_of_this_process

    pause = threading.Event()
    while True:
        try:
            return app_of_this_process().work(**options)
        except Unavailable:
            if "STORM_DISK" not in os.environ:
                raise
            logging.getLogger(__name__).exception("could not begin")
            pause.wait(RETRY_SECONDS)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    prepare()
    with ignoring_busy_disk():
        work(json.loads(sys.argv[1]))


if __name__ == "__main__":
    main()
