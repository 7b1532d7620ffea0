"""The façade's noun `app.queues`: what operators do with queues."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.app.ready_store import Operations
from leasehold.errors import OptionInvalid
from leasehold.model.limits import PAGE_MAX, QUEUE_LIMIT_MAX, RATE_MAX
from leasehold.model.names import check_name, check_queue, check_range, check_whole
from leasehold.shapes import from_fields
from leasehold.store.db.wake import ATTENTION
from leasehold.store.queues import Queue, RunningRow


class Running(Struct, frozen=True):
    """One task that runs now, with the progress it last reported."""

    job_id: int
    kind: str
    stage: str | None
    segment: int | None
    key: str
    attempt: int
    started_at: datetime
    progress: dict[str, Any] | None


class QueueOperations(Operations):
    """What operators do with queues."""

    def all(self) -> list[Queue]:
        """List queues with the number of tasks in each state."""
        return self._store.queues.all()

    def pause(self, name: str) -> None:
        """Stop claims from a queue; tasks that run are not stopped."""
        self._store.queues.pause(check_queue(name))

    def resume(self, name: str) -> None:
        """Let workers claim from a queue again."""
        self._store.queues.resume(check_queue(name))
        self._store.wake([name, ATTENTION])

    def running(self, name: str, *, limit: int = 50) -> list[Running]:
        """List the running tasks of a queue and its branches, the longest-running first, with their progress."""
        check_whole(limit, 1, PAGE_MAX, "limit")
        return [_running(row) for row in self._store.queues.running(check_name(name, "queue"), limit)]

    def limit(self, name: str, capacity: int | None, *, rate: float | None = None) -> None:
        """Let at most `capacity` tasks of a queue run at once, over all workers; None lifts the limit.

        With `rate`, at most so many tasks start per second, on average and over all workers. The name `mail/*` sets
        the limit of every branch of `mail`; `mail/example.org` sets that of one branch and has precedence.
        """
        if capacity is not None:
            check_whole(capacity, 1, QUEUE_LIMIT_MAX, "A queue's limit")
        if rate is not None:
            check_range(rate, 1 / RATE_MAX, RATE_MAX, "rate (starts in a second)")
            if capacity is None:
                raise OptionInvalid("A rate goes with a limit; pass both.")
        pace_us = None if rate is None else max(1, round(clock.SECOND / rate))
        self._store.queues.limit(check_queue(name), capacity, pace_us)
        self._store.wake([ATTENTION])


def _running(row: RunningRow) -> Running:
    progress = None if row.progress is None else canonical.decode(row.progress)
    return from_fields(Running, row, started_at=clock.moment(row.started_at), progress=progress)
