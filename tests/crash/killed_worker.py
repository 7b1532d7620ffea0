"""A worker that dies at a named place: the step that follows the place is replaced by SIGKILL to itself."""

import os
import signal
import sys

from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.effects.effects import Point, watch
from leasehold.store.leases import Leases
from leasehold.store.workers import Workers

NEXT_STEPS = {
    "leased but not started": (Claimer, "_start_attempts"),
    "ended but not written": (Leases, "settle"),
    "written but not answered": (Committer, "_answer"),
    "spent but not answered": (Committer, "_answer_requests"),
    "linked but not answered": (Committer, "_answer_requests"),
    "reclaimed but not noted as gone": (Workers, "deregister"),
}


EFFECT_POINTS = {
    "intended but not done": Point.AFTER_INTENT,
    "done but not recorded": Point.AFTER_ACT,
    "recorded but not returned": Point.AFTER_RESULT,
}


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(place: str) -> None:
    if place in EFFECT_POINTS:
        watch(lambda point, _: die() if point is EFFECT_POINTS[place] else None)
        from tests.support.apps.app import app

        app.work()
        return
    owner, step = NEXT_STEPS[place]
    assert callable(getattr(owner, step))
    setattr(owner, step, die)
    if place.startswith("leased"):
        # An empty claim is taken up too; only one that brought something matters.
        setattr(owner, step, lambda _, leases, asked_at, **_options: die() if leases else None)
    from tests.support.apps.app import app

    queues = ["loop"] if place.startswith("reclaimed") else None
    app.work(queues=queues)


if __name__ == "__main__":
    main(sys.argv[1])
