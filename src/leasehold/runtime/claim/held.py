"""The leases this worker holds, from claim to answer, and its capacity for more."""

from collections.abc import Iterable, Mapping

from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.capacity import Capacity

Identity = tuple[int, int]


class HeldAttempts:
    """Attempts by task and fence. A place is free again when the handler has ended, before the end is written."""

    def __init__(self, concurrency: int, queues: Mapping[str, int | None]) -> None:
        self.capacity = Capacity(concurrency, queues)
        self._held: dict[Identity, Attempt] = {}
        self._lost: set[Identity] = set()
        self.is_stopping = False

    def add(self, attempts: list[Attempt]) -> None:
        self._held.update(((attempt.lease.task_id, attempt.lease.fence), attempt) for attempt in attempts)
        self.capacity.occupy(attempt.lease.queue for attempt in attempts)

    def free_slot(self, attempt: Attempt) -> None:
        if attempt.give_up_slot():
            self.capacity.free_slot(attempt.lease.queue)

    def drop(self, attempt: Attempt) -> None:
        """Forget an attempt whose end has been answered."""
        self.drop_all([attempt])
        if attempt.state is State.LOST:
            self._lost.add((attempt.lease.task_id, attempt.lease.fence))

    def drop_all(self, attempts: Iterable[Attempt]) -> None:
        """Forget attempts whose ends have been answered."""
        pop = self._held.pop
        queues = set()
        for attempt in attempts:
            lease = attempt.lease
            pop((lease.task_id, lease.fence), None)
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

    def running(self) -> int:
        """Count attempts that have begun and not ended."""
        return sum(attempt.state is State.RUNNING for attempt in self.all())
