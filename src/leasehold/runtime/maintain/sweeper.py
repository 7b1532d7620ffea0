"""The sweeper: takes back what expired, or whose owner is certainly gone. Level-triggered, safe in any number."""

from collections.abc import Iterable

from leasehold.model.failure import loss
from leasehold.model.failure.loss import Reclaim, Reclaimed
from leasehold.runtime.claim import pending_file
from leasehold.runtime.limits import SWEEP_FULL_EVERY, SWEEP_OVERLAP_US
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import is_gone
from leasehold.store import Store
from leasehold.store.workers import Neighbour


class Sweeper:
    """Reclaims. Remembers how far it has swept, and now and then sweeps from the start."""

    def __init__(self, store: Store, events: EventLog, pending: pending_file.Read = pending_file.read) -> None:
        self._store = store
        self._pending = pending
        self._events = events
        self._swept_to = 0
        self._sweeps = 0
        self.reclaimed = 0

    @property
    def since(self) -> int:
        """Expiries up to here have been swept."""
        return 0 if self._sweeps % SWEEP_FULL_EVERY == 0 else self._swept_to

    def swept(self, now: int) -> None:
        """Note that everything expired before `now` has been looked at."""
        self._sweeps += 1
        self._swept_to = max(0, now - SWEEP_OVERLAP_US)

    def sweep_expired(self) -> set[str]:
        """Take back every expired lease; return the queues that got work."""
        queues: set[str] = set()
        since = self.since
        while expired := self._store.losses.expired(since):
            held = {one.worker: [other for other in expired if other.worker == one.worker] for one in expired}
            if not (reclaimed := self._reclaim([loss.decide(one, (), held[one.worker]) for one in expired], "expired")):
                break
            queues |= _queues(reclaimed)
        return queues

    def sweep_gone(self, neighbours: Iterable[Neighbour]) -> set[str]:
        """Take back what neighbours that are certainly gone had claimed; return the queues that got work."""
        queues: set[str] = set()
        for neighbour in neighbours:
            if is_gone(neighbour.pid, neighbour.birth):
                held, pending = self._store.losses.of_worker(neighbour.worker), self._pending(neighbour.pending_file)
                reclaimed = self._reclaim([loss.decide(one, pending, held) for one in held], "owner gone")
                queues |= _queues(reclaimed)
                if (count := self._store.workers.reclaim_deliveries(neighbour.worker)) > 0:
                    self._events.deliveries_reclaimed(count)
                # crash here: reclaimed but not noted as gone
                # The next sweep finds nothing left to reclaim, and notes it.
                if len(reclaimed) == len(held):  # else the server has not yet noticed that its transaction is gone too
                    self._store.workers.deregister([neighbour.worker])
                    pending_file.discard(neighbour.pending_file)
        return queues

    def _reclaim(self, leases: list[Reclaim], why: str) -> list[Reclaimed]:
        reclaimed = self._store.leases.reclaim(leases) if leases else []
        if reclaimed:
            self._events.leases_reclaimed(len(reclaimed), why)
            self.reclaimed += len(reclaimed)
        return reclaimed


def _queues(reclaimed: Iterable[Reclaimed]) -> set[str]:
    return {one.queue for one in reclaimed if one.status == "READY"}
