"""Which registered workers are alive, what they serve, and whether they have a free place.

A worker of this kernel is looked up by its process. Of another one is known when it last noted that it is alive, which
it does twice a minute, and whether it holds leases, which it must renew.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from leasehold import clock
from leasehold.insight.limits import SILENT_SECONDS_MAX
from leasehold.model.names import base_of
from leasehold.model.owner import Owner
from leasehold.store.workers import RegisteredWorker, Serving

IsGone = Callable[[int, int], bool]


class LiveWorker(Struct, frozen=True):
    """A worker that is alive. `serving` is None if it has not published what it serves."""

    id: int
    name: str
    serving: Serving | None
    running: dict[str, int]
    started_at: int

    def runs(self, route: str) -> bool:
        return self.serving is None or route in self.serving.routes

    def serves(self, queue: str) -> bool:
        return self.serving is None or base_of(queue) in self.serving.queues

    @property
    def busy(self) -> int:
        return sum(self.running.values())

    def is_full(self, queue: str) -> bool:
        """Whether it has no place for another task of this queue."""
        if self.serving is None:
            return False
        cap = self.serving.queues.get(base_of(queue))
        is_capped = cap is not None and self.running.get(base_of(queue), 0) >= cap
        return is_capped or self.busy >= self.serving.concurrency


class LiveWorkers(Struct, frozen=True):
    """The workers that are alive, and the ids of those that are gone without a word."""

    alive: list[LiveWorker]
    gone: frozenset[int]

    def having(self, route: str) -> list[LiveWorker]:
        return [worker for worker in self.alive if worker.runs(route)]


def find_alive(registered: Iterable[RegisteredWorker], now: int, me: Owner, is_gone: IsGone) -> LiveWorkers:
    """Separate the workers that are alive from those that are gone."""
    known = list(registered)
    alive = [worker for worker in known if _is_alive(worker, now, me, is_gone)]
    gone = frozenset(worker.id for worker in known) - {worker.id for worker in alive}
    return LiveWorkers([_live(worker) for worker in alive], gone)


def _is_alive(worker: RegisteredWorker, now: int, me: Owner, is_gone: IsGone) -> bool:
    if me.shares_kernel_with(worker.owner):
        return not is_gone(worker.owner.pid, worker.owner.birth)
    was_seen = worker.seen_at is not None and now - worker.seen_at <= SILENT_SECONDS_MAX * clock.SECOND
    return was_seen or bool(worker.running)


def _live(worker: RegisteredWorker) -> LiveWorker:
    return LiveWorker(worker.id, str(worker.owner), worker.serving, dict(worker.running), worker.started_at)
