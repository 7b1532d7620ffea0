"""Runs the shop on one database with a stopped clock and exports its jobs: `python -m tests.replay.recorder FOLDER`."""

import sys
from pathlib import Path

from leasehold.testing import Clock, drain
from tests.replay.shop import app

STARTED = 1_900_000_000_000_000
JOBS = {
    "order": {"item": "Kaffee", "price": 4.5},
    "refuse": {"why": "nein"},
    "unlucky": {},
    "several": {"names": ["z", "a", "m"]},
    "apart": {"number": 21},
    "parcel": {"boxes": 2},
    "lost": {},
    "session": {"names": ["ä", "bc"]},
    "spendthrift": {},
    "film": {"scenes": 3},
    "idle": {},
}
BUDGET = {"tokens": 100}


def main(folder: Path) -> None:
    clock = Clock(app)
    clock.set(STARTED)
    made = {}
    for kind, payload in JOBS.items():
        budget = BUDGET if kind in ("session", "spendthrift") else None
        made[kind] = app.submit(kind, payload, key=f"{kind} ü", budget=budget)
        if kind == "idle":
            made[kind].cancel("nobody needs it")
        drain(app, clock)
        clock.advance(1)
    for kind, job in made.items():
        with (folder / f"{kind}.ndjson").open("w+b") as file:
            app.journal.export(job.id, file)
        found = app.journal.verify(job.id)
        assert found.equal, found
    app.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
