"""The façade's noun `app.manual`: jobs leased by a script that runs no worker."""

import os

from leasehold import clock
from leasehold.app.kinds import JobKind
from leasehold.app.ready_store import Operations, ReadyStore
from leasehold.errors import JobNotFree, KindUnknown, Misuse
from leasehold.insight.read import jobs
from leasehold.model.failure import loss
from leasehold.model.lanes import Lane
from leasehold.model.lease import Lease
from leasehold.model.limits import BRANCHES_LOOK_MAX, LEASE_SECONDS, LEASE_SECONDS_MAX, LEASE_SECONDS_MIN, SWEEP_MAX
from leasehold.model.names import base_of, check_id, check_range, check_text
from leasehold.runtime.handlers import Handler
from leasehold.runtime.maintain.sweeper import Sweeper
from leasehold.runtime.manual import Held
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store
from leasehold.store.db.documents import document
from leasehold.store.workers import PulseQuery

OWNER_LENGTH_MAX = 200
LOOK_MAX = 100


class ManualLeases(Operations):
    """Leases plain jobs one by one. The holder does what a worker would: renew, end, release."""

    def __init__(self, ready_store: ReadyStore) -> None:
        super().__init__(ready_store)
        self._processes: dict[tuple[int, int], int] = {}  # the number of this process as an owner, by store and pid

    def lease(self, what: object, *, owner: str, seconds: float = LEASE_SECONDS) -> Held | None:
        """Lease the next job of a kind for `seconds`; None if none is ready. `owner` is any name; see `resume`."""
        handler = self._handler(what)
        store, worker = self._ready(owner, seconds)
        routes = _routes(handler)
        for lane in store.leases.ready_first(self._queues(store, handler), routes, LOOK_MAX):
            found = _claim(store, worker, lane, routes)
            if found and _lasts(held := Held(store, found[0], handler, owner), found[0], seconds):
                return held
        return None

    def hold(self, job_id: int, *, owner: str, seconds: float = LEASE_SECONDS, of_process: bool = False) -> Held:
        """Lease this job; `JobNotFree` if it cannot be leased now, `JobUnknown` if there is none with this id.

        `of_process`: the lease belongs to this process as well as to time. Once the process is gone, any
        sweep on this machine reclaims it; nobody can `resume` it.
        """
        check_id(job_id, "job", 0)
        store, worker = self._ready(owner, seconds)
        worker = self._process(store) if of_process else worker
        handler = self._handler(jobs.find(store, job_id, whole=False).kind)
        lane = store.leases.ready_task(job_id)
        found = [] if lane is None else _claim(store, worker, lane, _routes(handler), only=lane)
        for lease in found:
            held = Held(store, lease, handler, owner)
            if lease.task_id == job_id and _lasts(held, lease, seconds):
                return held
            held.release()  # somebody was faster, and this is the next one in the lane
        raise JobNotFree(_reason(store, job_id, lane))

    def resume(self, job_id: int, *, owner: str) -> Held | None:
        """Resume what this owner has leased, from another process or connection; None if the lease ended."""
        check_id(job_id, "job", 0)
        store = self._store
        found = store.leases.view(job_id)
        if found is None or found.boot or found.host != owner:
            return None
        return Held(store, found.lease, self._handler(found.lease.kind), owner, effects=found.effects)

    def sweep(self) -> int:
        """Reclaim expired leases and return how many. Workers and `lease` do so automatically."""
        store, count = self._store, 0
        while expired := store.losses.expired():
            count += len(store.leases.reclaim([loss.decide(one, ()) for one in expired]))
            if len(expired) < SWEEP_MAX:
                break
        return count

    def reclaim_gone(self) -> None:
        """Reclaim what expired, and at once what processes of this machine held that are certainly gone."""
        store, me = self._store, this_process()
        self.sweep()
        found = store.workers.pulse(PulseQuery(boot=me.boot, namespace=me.namespace))
        Sweeper(store, EventLog()).sweep_gone(found.neighbours)

    def fence(self, job_id: int) -> int | None:
        """Return the fence of the lease under which a job is held now; None if nobody holds it."""
        check_id(job_id, "job", 0)
        found = self._store.leases.view(job_id)
        return None if found is None else found.lease.fence

    def _process(self, store: Store) -> int:
        """Return the number of this process as an owner; a forked one gets its own."""
        mine = (id(store), os.getpid())
        if mine not in self._processes:
            self._processes[mine] = store.workers.register(this_process())
        return self._processes[mine]

    def _ready(self, owner: str, seconds: float) -> tuple[Store, int]:
        check_text(owner, OWNER_LENGTH_MAX, "owner")
        check_range(seconds, LEASE_SECONDS_MIN, LEASE_SECONDS_MAX, "seconds")
        store = self._ready_store.published()
        if store.database.is_bound:
            raise Misuse("A transaction is open, and a lease is one once it is committed; end it first.")
        self.sweep()
        while store.stages.make_due().count:
            pass
        return store, store.workers.register_manual(owner)

    def _handler(self, what: object) -> Handler:
        known = self._ready_store.registry.find(what)
        if not isinstance(known, JobKind):
            raise KindUnknown(f"{what!r} is no plain kind of this app; declare it with @app.job.")
        return known.handler

    def _queues(self, store: Store, handler: Handler) -> list[str]:
        """Return the kind's queue and those of its branches in which something is ready."""
        queue, found, after = handler.terms.queue, [handler.terms.queue], ""
        while True:
            page = store.queues.branches(after)
            found += [branch for branch in page if base_of(branch) == queue]
            if len(page) < BRANCHES_LOOK_MAX:
                return found
            after = page[-1]


def _lasts(held: Held, lease: Lease, seconds: float) -> bool:
    """Have a lease that was just claimed last so long; nothing is written if its kind grants just that."""
    return lease.lease_ms == round(seconds * 1000) or held.renew(seconds)


def _routes(handler: Handler) -> str:
    """Return the routes of a kind: a suspect too may be leased, since its holder holds nothing else."""
    return document([handler.route, loss.suspect_route(handler.route)])


def _claim(store: Store, worker: int, lane: Lane, routes: str, only: Lane | None = None) -> list[Lease]:
    """Claim one task from a lane, with a slot where its queue is limited."""
    found = store.leases.claim(worker, [lane], routes, 1).leases
    return found or store.leases.claim_limited(worker, lane.queue, routes, 1, only).leases


def _reason(store: Store, job_id: int, lane: Lane | None) -> str:
    held = store.leases.view(job_id)
    if held is not None:
        return f"Job {job_id} is held by {held.holder} until {clock.moment(held.expires_at)}."
    if lane is not None:
        return f"Job {job_id} stands in the queue '{lane.queue}', which is paused or limited, or somebody was faster."
    return f"Job {job_id} is {jobs.find(store, job_id, whole=False).status}."
