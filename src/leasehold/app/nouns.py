"""The façade's nouns `app.queues` and `app.machine`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.app.ready_store import ReadyStore
from leasehold.errors import OptionInvalid
from leasehold.model.limits import PAGE_MAX, QUEUE_LIMIT_MAX, RATE_MAX
from leasehold.model.machine import Machine, make_machine
from leasehold.model.names import check_key, check_name, check_queue, check_range, check_whole
from leasehold.store.db.wake import ATTENTION
from leasehold.store.machines import Placed
from leasehold.store.queues import Queue, RunningRow


class Running(Struct, frozen=True):
    """One task that runs now, and what it last said of how far it has come."""

    job_id: int
    kind: str
    stage: str | None
    segment: int | None
    key: str
    attempt: int
    started_at: datetime
    progress: dict[str, Any] | None


class QueueOperations:
    """What operators do with queues."""

    def __init__(self, ready_store: ReadyStore) -> None:
        self._ready_store = ready_store

    def all(self) -> list[Queue]:
        """List queues with what stands in them."""
        return self._ready_store.store.queues.all()

    def pause(self, name: str) -> None:
        """Have nobody claim from a queue; what runs goes on."""
        self._ready_store.store.queues.pause(check_queue(name))

    def resume(self, name: str) -> None:
        """Let workers claim from a queue again."""
        self._ready_store.store.queues.resume(check_queue(name))
        self._ready_store.store.wake([name, ATTENTION])

    def running(self, name: str, *, limit: int = 50) -> list[Running]:
        """List what of a queue and its branches runs now, longest first, with how far each has come."""
        check_whole(limit, 1, PAGE_MAX, "limit")
        rows = self._ready_store.store.queues.running(check_name(name, "queue"), limit)
        return [_running(row) for row in rows]

    def limit(self, name: str, capacity: int | None, *, rate: float | None = None) -> None:
        """Let at most `capacity` tasks of a queue run at once, over all workers; None lifts the limit.

        With `rate`, no more than so many start in a second, on average and over all workers. The name `mail/*` sets
        the limit of each branch of `mail` by itself; `mail/example.org` that of one, which comes before the others'.
        """
        if capacity is not None:
            check_whole(capacity, 1, QUEUE_LIMIT_MAX, "A queue's limit")
        if rate is not None:
            check_range(rate, 1 / RATE_MAX, RATE_MAX, "rate (starts in a second)")
            if capacity is None:
                raise OptionInvalid("A rate goes with a limit; pass both.")
        pace_us = None if rate is None else max(1, round(clock.SECOND / rate))
        self._ready_store.store.queues.limit(check_queue(name), capacity, pace_us)
        self._ready_store.store.wake([ATTENTION])


class MachineOperations:
    """Declares state machines: `app.machine("parcel", {"PACKED": "SENT", "SENT": ["ARRIVED", "LOST"]}, initial=…)`."""

    def __init__(self, ready_store: ReadyStore) -> None:
        self._ready_store = ready_store

    def __call__(
        self, name: str, arrows: Mapping[str, str | Iterable[str]], *, initial: str, failed: str | None = None
    ) -> Machine:
        """Declare the states that jobs of a kind pass through, and from where one may go where.

        Pass it to the kind as `machine=`; its handlers then move with `task.advance(state)`. A job begins in `initial`,
        and one that ended in ERROR is shown as `failed`. The database keeps the arrows and refuses every other move.
        """
        return make_machine(check_name(name, "machine"), arrows, initial=initial, failed=failed)

    def counts(self, kind: str) -> dict[str, int]:
        """Count the jobs of a kind by state."""
        return self._ready_store.store.machines.counts(check_name(kind, "kind"))

    def standing(self, kind: str, *, prefix: str = "") -> Iterator[Placed]:
        """Yield every job of a kind whose key starts with `prefix`, with its state, in the order of keys."""
        check_name(kind, "kind")
        if prefix:
            check_key(prefix, "prefix")
        listing, after = self._ready_store.store.machines.listing, ""
        while page := listing(kind, prefix, after, PAGE_MAX):
            yield from page
            after = page[-1].key


def _running(row: RunningRow) -> Running:
    started_at = clock.moment(row.started_at)
    assert started_at is not None
    progress = None if row.progress is None else canonical.decode(row.progress)
    return Running(row.job_id, row.kind, row.stage, row.segment, row.key, row.attempt, started_at, progress)
