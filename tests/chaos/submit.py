"""The submitter of a storm: one job after another, each witnessed when it is answered, until it is asked to stop.

It may be killed and started again: it goes on after the last job that was answered, and the one in between has a key.
"""

import logging
import os
import sys
import threading
from pathlib import Path

from leasehold import Leasehold
from leasehold.errors import Unavailable
from tests.chaos.storm_worker import ignoring_busy_disk, prepare
from tests.support.apps.chaos import app_of_this_process, work_of
from tests.support.oracle.witness import Journal

READY_MAX = 30
LOOK_EVERY = 10  # counting what is ready costs more than a submit while dead rows cannot be cleared away
PAUSE_SECONDS = 0.02


class Submitter:
    """Submits, and holds back while much is ready: what was taken back from the dead is not to wait in line."""

    def __init__(self, app: Leasehold, folder: Path) -> None:
        self._app = app
        self._journal = Journal(folder / "witness")
        self._enough = folder / "gate-enough"
        self._pause = threading.Event()

    def run(self, most: int) -> None:
        """Submit up to `most` jobs, in the order of their numbers."""
        number = len([line for line in self._journal.lines if line[0] == "acked"])
        while number < most and not self._enough.exists():
            number += self._try(number)

    def _try(self, number: int) -> int:
        kind, payload, key = work_of(number)
        try:
            if number % LOOK_EVERY == 0 and self._app.store.reports.health().ready > READY_MAX:
                self._pause.wait(PAUSE_SECONDS)
                return 0
            job = self._app.submit(kind, payload, key=key)
        except Unavailable:
            self._pause.wait(PAUSE_SECONDS)
            return 0
        self._journal.saw("acked", job.id, kind, key)
        return 1


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    prepare()
    app = app_of_this_process()
    Submitter(app, Path(os.environ["WORKSHOP_FOLDER"])).run(int(sys.argv[1]))
    with ignoring_busy_disk():
        app.close()


if __name__ == "__main__":
    main()
