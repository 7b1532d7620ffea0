"""An operator's process that dies at a named place of a revival: the step that follows it is replaced by SIGKILL."""

import os
import sys

from leasehold import Leasehold
from leasehold.store import Store, deadletters
from tests.crash.killed_worker import die

NEXT_STEPS = {
    "taken but not placed": (deadletters, "_place"),
    "placed but not noted": (deadletters, "add_line"),
    "revived but not woken": (Store, "wake"),
}


def main(place: str, letter: str, how: str) -> None:
    owner, step = NEXT_STEPS[place]
    assert callable(getattr(owner, step))
    setattr(owner, step, die)
    app = Leasehold(os.environ["LEASEHOLD_URL"])
    app.deadletters.revive(int(letter), from_start=how == "from start")


if __name__ == "__main__":
    main(*sys.argv[1:])
