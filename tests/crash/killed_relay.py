"""A relay that dies at a named place: the step that follows the place is replaced by SIGKILL to itself."""

import logging
import sys

from leasehold.runtime.observe.events import EventLog
from leasehold.store.deliveries import Deliveries
from tests.crash.killed_worker import die
from tests.support.apps.deliveries import Noted, make_app

NEXT_STEPS = {
    "claimed but not begun": (Deliveries, "begin"),
    "begun but not sent": (Noted, "send"),
    "sent but not marked": (Deliveries, "mark"),
    "marked but not logged": (EventLog, "delivery_marked"),
}


def main(place: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    owner, step = NEXT_STEPS[place]
    assert callable(getattr(owner, step))
    setattr(owner, step, lambda *_, **__: die())
    make_app().deliveries.relay()


if __name__ == "__main__":
    main(sys.argv[1])
