"""Leases: claim, renew, settle, release, reclaim. Every write names the task and the fence."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final, TypeVar

from msgspec import Struct

from leasehold.model.failure.failure import MESSAGE_STANDS, WORKER_LOST
from leasehold.model.failure.loss import Reclaim, Reclaimed
from leasehold.model.lanes import POSITION_MIN, Lane
from leasehold.model.lease import Lease, LeaseKey, Progress, Renewal, Renewed, Settled, Settlement
from leasehold.model.limits import PRIORITY_MAX, PRIORITY_MIN, RENEW_MAX, SWEEP_MAX
from leasehold.model.names import family_of
from leasehold.model.outbox import without_conflicts
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document

T = TypeVar("T", bound=LeaseKey)
Free = Callable[[], int]

_LOST: Final = WORKER_LOST.text()
_CONFLICT: Final = MESSAGE_STANDS.text()


class Claimed(Struct, frozen=True):
    leases: list[Lease]
    in_doubt: bool  # an earlier try may have leased tasks without an answer
    wait_us: int | None = None  # until a slot of a limited queue has rested; None if none rests
    requested: int = 0


class LeaseView(Struct, frozen=True):
    """A live lease: until when, and who holds it. Without `boot` it is a manual lease of the owner `host`."""

    lease: Lease
    expires_at: int
    host: str
    boot: str
    pid: int
    effects: int  # the highest number of an effect of its task

    @property
    def holder(self) -> str:
        """The holder's name as people see it."""
        return f"{self.host}:{self.pid}" if self.boot else self.host


class Leases(Noun):
    def claim(self, worker: int, lanes: Sequence[Lane], routes: str, most: int, free: Free | None = None) -> Claimed:
        """Lease up to `most` tasks of unlimited, unpaused queues. `routes`: a JSON list of what the worker can run.

        `free` returns the free capacity; with a single writer it is called when this one has the lock.
        """
        known = {"worker": worker, "lanes": document(lanes), "routes": routes, "limited": False}
        requested = most

        def work(session: Session) -> list[Row]:
            nonlocal requested
            requested = self._request_size(most, free)
            return session.run("leases/claim", **known, most=requested)

        rows, in_doubt = self._database.write_checked(work)
        return Claimed([Lease(*row) for row in rows], in_doubt, requested=requested)

    def _request_size(self, most: int, free: Free | None) -> int:
        return max(most, free()) if free is not None and self._database.dialect.single_writer else most

    def claim_limited(
        self, worker: int, queue: str, routes: str, most: int, only: Lane | None = None, free: Free | None = None
    ) -> Claimed:
        """Lease tasks of a limited queue, one slot each; `only` from this lane. `free` as above."""
        lanes = document([only or Lane(queue, PRIORITY_MIN, PRIORITY_MAX, POSITION_MIN)])
        claim = {"worker": worker, "lanes": lanes, "routes": routes, "limited": True}
        known = {"queue": queue, "family": family_of(queue)}
        requested = most

        def work(session: Session) -> tuple[list[Lease], int | None]:
            nonlocal requested
            requested = self._request_size(most, free)
            found = session.run("queues/free_slots", **known, most=requested, ceiling=None)
            if known["family"] and not any(wait_us == 0 for _, wait_us in found):
                # A branch gets its slots when it is first claimed from, or when none is free and there may be more.
                session.run("queues/make_slots", **known, capacity=None)
                found = session.run("queues/free_slots", **known, most=requested, ceiling=None)
            open_slots = [number for number, wait_us in found if wait_us == 0]
            wait_us = min((wait_us for _, wait_us in found if wait_us > 0), default=None)
            if not open_slots:
                return [], wait_us
            leases = [Lease(*row) for row in session.run("leases/claim", **claim, most=len(open_slots))]
            taken = zip(open_slots, leases, strict=False)
            pairs = [{"number": number, "task_id": lease.task_id} for number, lease in taken]
            session.run("queues/fill_slots", **known, slots=document(pairs))
            return leases, wait_us

        (leases, wait_us), in_doubt = self._database.transact_checked(work)
        return Claimed(leases, in_doubt, wait_us, requested)

    def settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        """End attempts; return those that were settled. The leases of the others are no longer live."""
        return [settled for batch in without_conflicts(settlements) for settled in self._settle(batch)]

    def _settle(self, settlements: Sequence[Settlement]) -> list[Settled]:
        values = {"settlements": document(_in_order(settlements)), "conflict": _CONFLICT}
        rows, in_doubt = self._database.write_checked(lambda session: session.run("leases/settle", **values))
        settled = [Settled(*row) for row in rows]
        if in_doubt and len(settled) < len(settlements):
            # An earlier try, whose COMMIT stayed without an answer, may have settled the others.
            missing = {(end.task_id, end.fence) for end in settlements} - {(end.task_id, end.fence) for end in settled}
            leases = document([{"task_id": task_id, "fence": fence} for task_id, fence in sorted(missing)])
            settled += self._list(Settled, "leases/settled", leases=leases)
        return settled

    def renew(self, renewals: Sequence[Renewal]) -> list[Renewed]:
        """Extend leases; return those that were still live."""
        held: list[Renewed] = []
        for start in range(0, len(renewals), RENEW_MAX):
            batch = _in_order(renewals[start : start + RENEW_MAX])
            rows = self._database.write("leases/renew", renewals=document(batch))
            held.extend(Renewed(row[0], row[1], row[2], bool(row[3])) for row in rows)
        return held

    def record_progress(self, reports: Sequence[Progress]) -> set[tuple[int, int]]:
        rows = self._database.write("leases/progress", reports=document(_in_order(reports)))
        return {(row[0], row[1]) for row in rows}

    def reclaim(self, reclaims: Sequence[Reclaim]) -> list[Reclaimed]:
        """Take leases back: released by their holder, expired, or of an owner that is gone."""
        reclaimed = document(_in_order(reclaims))
        rows = self._database.write("leases/reclaim", reclaims=reclaimed, lost=_LOST)
        return [Reclaimed(*row) for row in rows]

    def held_by(self, worker: int) -> list[tuple[int, int]]:
        return [(row[0], row[1]) for row in self._database.read("leases/held_by", worker=worker, most=100 * SWEEP_MAX)]

    def view(self, task_id: int) -> LeaseView | None:
        rows = self._database.read("leases/view", task=task_id)
        return LeaseView(Lease(*rows[0][:-5]), *rows[0][-5:]) if rows else None

    def ready_first(self, queues: Sequence[str], routes: str, most: int) -> list[Lane]:
        """Find the next task of each of these queues, the first of all first; each lane selects one."""
        return self._list(_lane, "leases/ready_first", queues=document(queues), routes=routes, most=most)

    def ready_task(self, task_id: int) -> Lane | None:
        """Find a ready task; the lane selects it."""
        return next(iter(self._list(_lane, "leases/ready_task", task=task_id)), None)


def _lane(queue: str, priority: int, position: int) -> Lane:
    """Return the lane whose first task has this position."""
    return Lane(queue, priority, priority, position - 1)


def _in_order(batch: Sequence[T]) -> list[T]:
    return sorted(batch, key=attrgetter("task_id"))
