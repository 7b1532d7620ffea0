"""Clearing: takes back what tasks lost because of others that were convicted. Any number may run.

It looks while there are suspects or something is left to clear, and for a while after a verdict or a loss: two that are
committed at once may come into view in either order.
"""

from leasehold import clock
from leasehold.runtime.limits import CLEAR_US
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.store.workers import Pulse


class Clearing:
    """Clears, and remembers after which verdict and which loss it has looked."""

    def __init__(self, store: Store, events: EventLog) -> None:
        self._store = store
        self._events = events
        self._seen: tuple[int, int] | None = None
        self._until = 0
        self._has_more = False

    def clear(self, pulse: Pulse, reclaimed: int) -> set[str]:
        """Clear if there is reason to; return the queues that got work. `reclaimed`: how many leases so far."""
        if pulse.crashed is None:
            return set()
        if self._seen != (pulse.crashed, reclaimed):
            self._seen = (pulse.crashed, reclaimed)
            self._until = clock.uptime() + CLEAR_US
        if not (pulse.suspects or self._has_more or clock.uptime() < self._until):
            return set()
        queues: set[str] = set()
        self._has_more = True  # until a look finds nothing; one that fails is made again
        convicted = self._store.losses.convicted()
        self._has_more = bool(convicted)
        for task_id in convicted:
            if cleared := self._store.losses.clear(task_id):
                self._events.suspects_cleared(task_id, len(cleared))
                queues.update(one.queue for one in cleared if one.status == "READY")
        return queues
