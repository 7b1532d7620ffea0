"""One small run of everything: submits a job of every kind, and works until all of them have ended.

`python -m tests.chaos.once NUMBER`: run number NUMBER, whose jobs have numbers of their own.
"""

import contextlib
import logging
import os
import sys
from pathlib import Path

from tests.chaos.storm_worker import prepare
from tests.support.apps.chaos import TURNS, app_of_this_process, work_of
from tests.support.oracle.witness import Journal

DRAIN_SECONDS = 120


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    prepare()
    journal = Journal(Path(os.environ["WORKSHOP_FOLDER"]) / "witness")
    start = int(sys.argv[1]) * len(TURNS)
    with contextlib.closing(app_of_this_process()) as app:
        for number in {kind: start + place for place, kind in enumerate(TURNS)}.values():
            kind, payload, key = work_of(number)
            job = app.submit(kind, payload, key=key)
            journal.saw("acked", job.id, kind, key)
        app.drain(concurrency=4, timeout=DRAIN_SECONDS)


if __name__ == "__main__":
    main()
