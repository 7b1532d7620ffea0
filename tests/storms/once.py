"""One small run of everything: submits a job of every kind, and works until all of them have ended.

`python -m tests.storms.once NUMBER`: run number NUMBER, whose jobs have numbers of their own.
"""

import contextlib
import logging
import os
import sys
from pathlib import Path

from tests.lab.witness import Journal
from tests.storms.app import TURNS, app_of_this_process, work_of
from tests.storms.work import prepare

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
