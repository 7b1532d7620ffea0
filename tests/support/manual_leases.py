"""Leases taken without a worker, for tests that need to hold one."""

from leasehold.model.lanes import POSITION_MIN, Lane
from leasehold.model.lease import Lease
from leasehold.model.limits import PRIORITY_MAX, PRIORITY_MIN
from leasehold.model.owner import Owner
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store
from leasehold.store.db.documents import document


def enrol(store: Store, owner: Owner | None = None) -> int:
    """Register a worker process: this one, unless another is given."""
    return store.workers.register(owner or this_process())


def claim(store: Store, worker: int, route: str, *, queue: str = "default", most: int = 1) -> list[Lease]:
    """Lease ready tasks of one route."""
    lanes = [Lane(queue, PRIORITY_MIN, PRIORITY_MAX, POSITION_MIN)]
    return store.leases.claim(worker, lanes, document([route]), most).leases
