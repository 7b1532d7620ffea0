"""The leases this worker holds, from claim to answer, and its capacity for more."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from leasehold.model.names import base_of, family_of
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.pending_file import PendingFile

Identity = tuple[int, int]


class Capacity:
    """So many places, some queues with caps of their own. A place is taken by claiming and left by ending."""

    def __init__(self, concurrency: int, caps: Mapping[str, int | None]) -> None:
        self.concurrency = concurrency
        self._caps = {queue: cap for queue, cap in caps.items() if cap is not None}
        self._scarce = frozenset(self._caps)
        self.busy = 0
        self._busy_by_queue: Counter[str] = Counter()
        self._wanted = 0
        self._closed = False
        self._changed = threading.Condition()
        self._on_free: Callable[[Iterable[str]], None] = lambda _: None

    def notify_on_free(self, limited: Iterable[str], on_free: Callable[[Iterable[str]], None]) -> None:
        """Call `on_free` at once when a limited or capped queue may have a free slot again."""
        self._scarce = frozenset(limited).union(self._caps)
        self._on_free = on_free

    def occupy(self, queues: Iterable[str], places: int = 1) -> None:
        """Take a place for a task of each of these queues, or so many."""
        with self._changed:
            for queue in queues:
                self.busy += places
                if self._caps:
                    self._busy_by_queue[base_of(queue)] += 1

    def free_slot(self, queue: str, places: int = 1) -> None:
        """Free a place, or so many: its handler has ended."""
        with self._changed:
            self.busy -= places
            if self._caps:
                self._busy_by_queue[base_of(queue)] -= 1
            if self._wanted and self.free() >= self._wanted:
                self._changed.notify_all()
        if self._scarce:
            self.announce_free({queue})

    def announce_free(self, queues: Iterable[str]) -> None:
        """Announce that an end was written, which frees a slot of a limited or capped queue."""
        if self._scarce:
            scarce = [one for one in queues if not self._scarce.isdisjoint((one, base_of(one), family_of(one)))]
            if scarce:
                self._on_free(scarce)

    def free(self) -> int:
        return self.concurrency - self.busy

    def free_in(self, queue: str) -> int:
        """Count free places for one queue, which may have a cap of its own here."""
        cap = self._caps.get(base_of(queue))
        free = self.free()
        return free if cap is None else min(free, cap - self._busy_by_queue[base_of(queue)])

    def is_capped(self, queue: str) -> bool:
        return base_of(queue) in self._caps

    def await_free(self, slots: int, seconds: float) -> None:
        """Wait until so many places are free, or so long; not at all once closed."""
        with self._changed:
            self._wanted = slots
            self._changed.wait_for(lambda: self._closed or self.free() >= slots, timeout=seconds)
            self._wanted = 0

    def close(self) -> None:
        """End every wait for a free place."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def await_idle(self, seconds: float) -> bool:
        """Wait until no place is occupied any more; False if that takes longer."""
        with self._changed:
            self._wanted = self.concurrency
            found = self._changed.wait_for(lambda: self.busy == 0, timeout=seconds)
            self._wanted = 0
            return found


class HeldAttempts:
    """Attempts by task and fence. A place is free again when the handler has ended, before the end is written."""

    def __init__(self, concurrency: int, queues: Mapping[str, int | None], pending: PendingFile | None = None) -> None:
        self.capacity = Capacity(concurrency, queues)
        self.pending = pending or PendingFile(concurrency)
        self._held: dict[Identity, Attempt] = {}
        self._lost: set[Identity] = set()
        self.is_stopping = False

    def add(self, attempts: list[Attempt], *, alone: bool = False) -> None:
        """Hold attempts. One that runs `alone` takes every place."""
        taken = {(attempt.lease.task_id, attempt.lease.fence): attempt for attempt in attempts}
        self.pending.add(taken)
        self._held.update(taken)
        if alone:
            for attempt in attempts:
                attempt.places = self.capacity.concurrency
        self.capacity.occupy((attempt.lease.queue for attempt in attempts), attempts[0].places)

    def begin(self, attempt: Attempt) -> None:
        """Note that a handler is called from here on: its task loses a worker if this one dies."""
        self.pending.remove((attempt.lease.task_id, attempt.lease.fence))

    def free_slot(self, attempt: Attempt) -> None:
        if attempt.places:
            places, attempt.places = attempt.places, 0
            self.capacity.free_slot(attempt.lease.queue, places)

    def drop(self, attempt: Attempt) -> None:
        self.drop_all([attempt])
        if attempt.state is State.LOST:
            self._lost.add((attempt.lease.task_id, attempt.lease.fence))

    def drop_all(self, attempts: Iterable[Attempt]) -> None:
        """Forget attempts whose ends have been answered."""
        pop = self._held.pop
        queues = set()
        for attempt in attempts:
            lease = attempt.lease
            identity = (lease.task_id, lease.fence)
            pop(identity, None)
            if attempt.state is not State.ENDED:  # what ended had begun, and is off the list since then
                self.pending.remove(identity)
            queues.add(lease.queue)
        self.capacity.announce_free(queues)

    def unknown_of(self, leases: Iterable[Identity]) -> list[Identity]:
        """Return those this worker never took up. One it took up and lost may have run, so it is not among them."""
        given = list(leases)
        self._lost.intersection_update(given)
        return [lease for lease in given if lease not in self._held and lease not in self._lost]

    def get(self, task_id: int, fence: int) -> Attempt | None:
        return self._held.get((task_id, fence))

    def all(self) -> list[Attempt]:
        return list(self._held.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held, not even an end that is not written."""
        return not self._held

    def suspects(self) -> int:
        """Count the suspects whose handlers have not ended."""
        return sum(attempt.lease.is_suspect and attempt.places > 0 for attempt in self.all())

    def running(self) -> int:
        return sum(attempt.state is State.RUNNING for attempt in self.all())
