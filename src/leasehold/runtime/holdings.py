"""The leases this worker holds, and the room it has for more."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from leasehold.runtime.attempt import Attempt, State

Identity = tuple[int, int]


class Holdings:
    """Attempts from claim to answer. A place is free again when the handler has ended, before the end is written."""

    def __init__(self, concurrency: int, queues: Mapping[str, int | None]) -> None:
        self.concurrency = concurrency
        self._queues = dict(queues)
        self._held: dict[Identity, Attempt] = {}
        self._busy = 0
        self._busy_by_queue: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._wanted = 0
        self._scarce = frozenset(queue for queue, cap in queues.items() if cap is not None)
        self._on_room: Callable[[], None] = _nobody

    def add(self, attempts: Iterable[Attempt]) -> None:
        """Take up attempts that were claimed."""
        with self._changed:
            for attempt in attempts:
                lease = attempt.lease
                self._held[lease.task_id, lease.fence] = attempt
                self._busy += 1
                self._busy_by_queue[lease.queue] += 1

    def watch_over(self, limited: Iterable[str], on_room: Callable[[], None]) -> None:
        """Have it told at once when a place in a limited or capped queue is free again."""
        self._scarce = frozenset(limited).union(queue for queue in self._queues if self.is_capped(queue))
        self._on_room = on_room

    def leave(self, attempt: Attempt) -> None:
        """Free the place of an attempt whose handler has ended."""
        with self._changed:
            self._busy -= 1
            self._busy_by_queue[attempt.lease.queue] -= 1
            if self._wanted and self.concurrency - self._busy >= self._wanted:
                self._changed.notify_all()
        if attempt.lease.queue in self._scarce:
            self._on_room()

    def drop(self, attempt: Attempt) -> None:
        """Forget an attempt whose end has been answered."""
        self._held.pop((attempt.lease.task_id, attempt.lease.fence), None)
        if attempt.lease.queue in self._scarce:
            self._on_room()

    def drop_all(self, attempts: Iterable[Attempt]) -> None:
        """Forget attempts whose ends have been answered."""
        pop = self._held.pop
        scarce = False
        for attempt in attempts:
            pop((attempt.lease.task_id, attempt.lease.fence), None)
            scarce = scarce or attempt.lease.queue in self._scarce
        if scarce:
            self._on_room()

    def get(self, task_id: int, fence: int) -> Attempt | None:
        """Return a held attempt."""
        return self._held.get((task_id, fence))

    def all(self) -> list[Attempt]:
        """Return everything held now."""
        return list(self._held.values())

    def running(self) -> int:
        """Count attempts that have begun and not ended."""
        return sum(attempt.state is State.RUNNING for attempt in self.all())

    @property
    def busy(self) -> int:
        """Count occupied places."""
        return self._busy

    def free(self) -> int:
        """Count free places."""
        return self.concurrency - self._busy

    def free_in(self, queue: str) -> int:
        """Count free places for one queue, which may have a cap of its own here."""
        cap = self._queues.get(queue)
        free = self.free()
        return free if cap is None else min(free, cap - self._busy_by_queue[queue])

    def is_capped(self, queue: str) -> bool:
        """Whether a queue has a cap of its own here."""
        return self._queues.get(queue) is not None

    def await_room(self, places: int, seconds: float) -> None:
        """Wait until so many places are free, or so long."""
        with self._changed:
            self._wanted = places
            self._changed.wait_for(lambda: self.free() >= places, timeout=seconds)
            self._wanted = 0

    def await_idle(self, seconds: float) -> bool:
        """Wait until nothing is held any more; False if that takes longer."""
        with self._changed:
            self._wanted = self.concurrency
            done = self._changed.wait_for(lambda: self._busy == 0, timeout=seconds)
            self._wanted = 0
            return done

    def stir(self) -> None:
        """Wake whoever waits for room, to look again."""
        with self._changed:
            self._changed.notify_all()


def _nobody() -> None:
    """Nobody waits for room yet."""
