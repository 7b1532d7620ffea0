"""Which suspects a worker may claim: tasks that have lost two workers or more, and may be what killed them.

A suspect runs in an isolated process of its own, where its death harms nobody, so a few may run at once. One whose
kind cannot be isolated runs in the worker, which holds nothing else meanwhile.
"""

from collections.abc import Callable, Mapping

from leasehold import clock
from leasehold.model.failure.loss import suspect_route
from leasehold.model.lease import Settlement
from leasehold.runtime.handlers import Handler
from leasehold.runtime.limits import QUIET_EVERY_US, QUIET_SECONDS, QUIET_SECONDS_MAX, QUIET_SHARE
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.store.db.documents import document


def clear_suspects(store: Store, events: EventLog) -> set[str]:
    """Take back what tasks lost because of others that were convicted; return the queues that got work."""
    queues: set[str] = set()
    for task_id in store.losses.convicted():
        if cleared := store.losses.clear(task_id):
            events.suspects_cleared(task_id, len(cleared))
            queues.update(cleared)
    return queues


class Suspects:
    """The routes of suspects that were seen ready."""

    def __init__(self, handlers: Mapping[str, Handler], on_ended: Callable[[], None]) -> None:
        """Know the suspects of these handlers; `on_ended` is called when the handler of one has ended."""
        self._handlers = handlers
        self._unloadable: set[str] = set()
        self._seen: frozenset[str] = frozenset()
        self._quiet_at = 0
        self._quiet_seconds = QUIET_SECONDS
        self.on_ended = on_ended

    def on_pulse(self, routes: frozenset[str]) -> bool:
        """Note which routes have suspects; return whether some are for this worker."""
        self._seen = frozenset(route for route in self._handlers if suspect_route(route) in routes)
        return bool(self._seen)

    def isolates(self, route: str) -> bool:
        """Whether a suspect of this route runs in a process of its own."""
        return self._handlers[route].can_isolate and route not in self._unloadable

    def cannot_isolate(self, route: str) -> None:
        """Note that a process of its own cannot load the handler of this route."""
        self._unloadable.add(route)

    def routes(self, *, isolated: bool) -> str:
        """Return a JSON list of suspects' routes that were seen, of those that can be isolated or the others."""
        return document(sorted(suspect_route(one) for one in self._seen if self.isolates(one) is isolated))

    def has(self, *, isolated: bool) -> bool:
        return any(self.isolates(one) is isolated for one in self._seen)

    def forget(self, *, isolated: bool) -> None:
        """Ask no more until the next pulse has seen some."""
        self._seen = frozenset(one for one in self._seen if self.isolates(one) is not isolated)

    def on_end(self, end: Settlement | None) -> None:
        """Have the next one claimed; after a conviction only when upkeep has cleared those that were lost with it."""
        if end is not None and end.status == "ERROR":
            self.forget(isolated=True)
        else:
            self.on_ended()

    def quiet_seconds(self, now: int) -> float:
        """Return how long to claim nothing else, so that the worker becomes idle for one that must run alone.

        Not at all but now and then; longer each time, or handlers that run long would keep it waiting for ever.
        """
        if not self.has(isolated=False) or now < self._quiet_at:
            return 0.0
        seconds, self._quiet_seconds = self._quiet_seconds, min(2 * self._quiet_seconds, QUIET_SECONDS_MAX)
        self._quiet_at = now + max(QUIET_EVERY_US, round(QUIET_SHARE * seconds * clock.SECOND))
        return seconds

    def on_alone(self) -> None:
        """Note that the worker was idle, and one runs alone."""
        self._quiet_seconds = QUIET_SECONDS
