"""A great many live leases: renewed, swept and settled in sets, in times that are reported."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leasehold import canonical
from leasehold.model.lease import Lease, Renewal, done
from leasehold.model.limits import CLAIM_MAX, GROUP_MAX, SUBMIT_MAX
from leasehold.runtime.maintain.sweeper import Sweeper
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.testing import Clock
from tests.chaos.figures import Proof, Repickups
from tests.store.work import claim, job, register
from tests.support.db import rows
from tests.support.oracle.oracle import Evidence, judge
from tests.support.oracle.witness import Witness

LEASE_MS = 60_000
SPARED = "All leases expire at one moment of a test clock; the seconds of the sweep and the claims are listed."


class Timed:
    """Seconds that each step took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 2)


class Holder:
    """Holds leases manually, and witnesses what it does with them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.witness = Witness()
        self._worker = register(store)

    def submit(self, count: int) -> None:
        for start in range(0, count, SUBMIT_MAX):
            batch = [job(str(number), lease_ms=LEASE_MS) for number in range(start, min(count, start + SUBMIT_MAX))]
            for one, made in zip(self.store.tasks.submit(batch), batch, strict=True):
                self.witness.saw("acked", one.id, made.kind, made.key)

    def claim_all(self) -> list[Lease]:
        found: list[Lease] = []
        while more := claim(self.store, self._worker, CLAIM_MAX):
            found += more
        for lease in found:
            self.witness.saw("began", lease.task_id, lease.fence, lease.queue, 1)
        return found

    def renew(self, leases: list[Lease]) -> int:
        return len(self.store.leases.renew([Renewal(one.task_id, one.fence, LEASE_MS) for one in leases]))

    def settle(self, leases: list[Lease]) -> int:
        """End attempts, as a worker does: in groups, whether their leases stand or not."""
        landed = 0
        for start in range(0, len(leases), GROUP_MAX):
            group = leases[start : start + GROUP_MAX]
            for lease in group:
                self.witness.saw("returned", lease.task_id, lease.fence, lease.fence)
            landed += len(self.store.leases.settle([done(one, canonical.encode(one.fence)) for one in group]))
        return landed


def check_many(store: Store, count: int) -> None:
    """Live, renewed, expired, swept, claimed again, and settled once: by the second holder, not by the first."""
    timed, holder, clock = Timed(), Holder(store), Clock(store)
    started = time.monotonic()
    with timed.step("tasks/submit"):
        holder.submit(count)
    with timed.step("leases/claim"):
        first = holder.claim_all()
    clock.advance(LEASE_MS / 2_000)
    with timed.step("leases/renew"):
        renewed = holder.renew(first)
    clock.advance(LEASE_MS / 1_000 + 1)
    with timed.step("sweep"):
        Sweeper(store, EventLog(worker=0)).sweep_expired()
    with timed.step("claim again"):
        second = holder.claim_all()
    with timed.step("settle, refused"):
        refused = holder.settle(first)
    with timed.step("leases/settle"):
        landed = holder.settle(second)
    wrong = judge(Evidence(_look(store.url), holder.witness.lines))
    counts = (len(first), renewed, len(second), refused, landed)
    if counts != (count, count, count, 0, count):
        wrong.append(f"claimed, renewed, claimed again, refused, settled: {counts}")
    _record(store, count, timed, time.monotonic() - started, wrong)
    assert wrong == []


def _look(url: str) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda query: rows(url, query)


def _record(store: Store, count: int, timed: Timed, seconds: float, wrong: list[str]) -> None:
    Proof(
        storm="many live leases",
        database=store.database.dialect.name,
        counts={"leases": count},
        faults={"expired": count},
        seconds=round(seconds, 1),
        lease_seconds=LEASE_MS / 1_000,
        repickups=Repickups.of([]),
        verdict=wrong[:20],
        measured=timed.seconds,
        spared=SPARED,
    ).write()


def test_s1_s2_two_thousand_live_leases_are_renewed_swept_and_settled_once(store):
    check_many(store, 2_000)


@pytest.mark.soak
def test_s1_s2_a_hundred_thousand_live_leases_are_renewed_swept_and_settled_once(store):
    check_many(store, 100_000)
