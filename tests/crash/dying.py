"""A worker that dies at a named place: the step that follows the place is replaced by SIGKILL to itself."""

import os
import signal
import sys

from leasehold.runtime.claimer import Claimer
from leasehold.runtime.committer import Committer
from leasehold.store.leases import Leases
from leasehold.store.workers import Workers

NEXT_STEPS = {
    "leased but not started": (Claimer, "_take_up"),
    "ended but not written": (Leases, "settle"),
    "written but not answered": (Committer, "_answer"),
    "reclaimed but not noted as gone": (Workers, "gone"),
}


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(place: str) -> None:
    owner, step = NEXT_STEPS[place]
    assert callable(getattr(owner, step))
    setattr(owner, step, die)
    if place.startswith("leased"):
        # An empty claim is taken up too; only one that brought something matters.
        setattr(owner, step, lambda _, leases, asked_at: die() if leases else None)
    from tests.workshop.app import app

    queues = ["loop"] if place.startswith("reclaimed") else None
    app.work(queues=queues)


if __name__ == "__main__":
    main(sys.argv[1])
