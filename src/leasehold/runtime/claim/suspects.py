"""Which suspects a worker may claim: tasks that have lost two workers or more, and may be what killed them.

A suspect runs in an isolated process of its own, where its death harms nobody, so a few may run at once. One whose
kind cannot be isolated runs in the worker, which holds nothing else meanwhile.

A suspect that lost one more worker may kill it from a process of its own (a container may end as a whole when its
memory runs out), or its workers die of something else. While there are such suspects, a worker claims one first, and
twice as many each time that one ends; and only a worker that has lived long enough claims them.
"""

from collections.abc import Callable, Collection, Mapping

from leasehold import clock
from leasehold.model.failure.loss import claimable_losses, route_of, suspect_route
from leasehold.model.lease import SUSPECT_LOSSES, Settlement
from leasehold.model.limits import SUSPECTS_MAX
from leasehold.runtime.handlers import Handler
from leasehold.runtime.limits import QUIET_EVERY_US, QUIET_SECONDS, QUIET_SECONDS_MAX, QUIET_SHARE
from leasehold.store.db.documents import document


class Suspects:
    """The suspects that were seen ready, by route."""

    def __init__(self, handlers: Mapping[str, Handler], on_ended: Callable[[], None]) -> None:
        """Know the suspects of these handlers; `on_ended` is called when the handler of one has ended."""
        self._handlers = handlers
        self._unloadable: set[str] = set()
        self._ready: dict[str, set[int]] = {}
        self._began_at = clock.uptime()
        self._at_once = 1
        self._quiet_at = 0
        self._quiet_seconds = QUIET_SECONDS
        self.on_ended = on_ended

    def on_pulse(self, ready: Collection[tuple[str, int]]) -> bool:
        """Note which routes have suspects, with their losses; return whether some are for this worker now."""
        most = self.losses_max()
        self._ready = {}
        for name, losses in ready:
            route = route_of(name)
            if route in self._handlers and losses <= most:
                self._ready.setdefault(route, set()).add(losses)
        return bool(self._ready)

    def losses_max(self) -> int:
        """Return the most losses that a suspect may have for this worker to claim it: the older, the more."""
        return claimable_losses((clock.uptime() - self._began_at) / clock.SECOND)

    def at_once(self) -> int:
        """Return how many may run at once: few at first, if some lost their worker from a process of their own."""
        is_repeated = any(count > SUSPECT_LOSSES for counts in self._ready.values() for count in counts)
        return self._at_once if is_repeated else SUSPECTS_MAX

    def isolates(self, route: str) -> bool:
        """Whether a suspect of this route runs in a process of its own."""
        return self._handlers[route].can_isolate and route not in self._unloadable

    def cannot_isolate(self, route: str) -> None:
        """Note that a process of its own cannot load the handler of this route."""
        self._unloadable.add(route)

    def routes(self, *, isolated: bool) -> str:
        """Return a JSON list of suspects' routes that were seen, of those that can be isolated or the others."""
        return document(sorted(suspect_route(one) for one in self._ready if self.isolates(one) is isolated))

    def has(self, *, isolated: bool) -> bool:
        return any(self.isolates(one) is isolated for one in self._ready)

    def forget(self, *, isolated: bool) -> None:
        """Ask no more until the next pulse has seen some."""
        self._ready = {one: losses for one, losses in self._ready.items() if self.isolates(one) is not isolated}

    def on_end(self, end: Settlement | None) -> None:
        """Have the next ones claimed; after a conviction only when upkeep has cleared those that were lost with it."""
        self._at_once = min(2 * self._at_once, SUSPECTS_MAX)
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
