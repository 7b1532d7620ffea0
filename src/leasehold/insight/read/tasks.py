"""The tasks of a job as programs see them: each one, how many there are of each status, and how far they have come."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.model.limits import SEGMENTS_MAX, STAGES_MAX
from leasehold.model.status import Status
from leasehold.shapes import View, from_fields
from leasehold.store import Store
from leasehold.store.reports import TaskRow

TASKS_MAX: Final = SEGMENTS_MAX + STAGES_MAX


class JobProgress(Struct, frozen=True):
    """How far a job has come: `done` of `total`, if that is known, and what its handler added."""

    done: float
    total: float | None = None
    message: str = ""

    def __str__(self) -> str:
        counted = f"{self.done:,}" if self.total is None else f"{self.done:,} of {self.total:,}"
        return f"{counted} {self.message}".rstrip()


class TaskView(View, frozen=True):
    """One task of a job: the job itself, a stage, or one segment of a stage (`segment` counts from 0).

    `attempt` is the latest, 0 before the first; `losses` of them lost their worker, which does not count against
    `attempts_max`. `due_at`: when it may start, if it waits for a time. `started_at`: when
    the attempt that runs was claimed. `progress`: what that attempt last reported.
    """

    id: int
    stage: str | None
    segment: int | None
    queue: str
    status: Status
    attempt: int
    attempts_max: int
    losses: int
    due_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    progress: JobProgress | None
    failure: dict[str, Any] | None


class TaskCounts(Struct, frozen=True):
    """How many tasks of a job have each status. A stage that fanned out counts as its segments; `str`: '312 of 500'.

    `total` grows when a stage with `each` fans out. `stages` has the counts of each stage by its name.
    """

    total: int
    new: int = 0
    ready: int = 0
    running: int = 0
    done: int = 0
    error: int = 0
    cancelled: int = 0
    stages: dict[str, TaskCounts] = {}

    def __str__(self) -> str:
        return f"{self.done:,} of {self.total:,}"


def listing(store: Store, job_id: int) -> list[TaskView]:
    """List every task of a job: the job itself, then its stages and their segments, in the order they were made."""
    return [_task(row) for row in store.reports.tasks(job_id, TASKS_MAX)]


def counts(store: Store, job_id: int) -> TaskCounts:
    total: Counter[str] = Counter()
    stages: dict[str, Counter[str]] = defaultdict(Counter)
    for row in store.reports.task_counts(job_id):
        total[row.status] += row.tasks
        if row.stage is not None:
            stages[row.stage][row.status] += row.tasks
    return _counts(total, {stage: _counts(found, {}) for stage, found in stages.items()})


def progress_of(text: str | None) -> JobProgress | None:
    """Read a handler's report, which is canonical JSON."""
    if text is None:
        return None
    found = canonical.decode(text)
    return JobProgress(found["done"], found.get("total"), found.get("message", ""))


def _counts(found: Mapping[str, int], stages: dict[str, TaskCounts]) -> TaskCounts:
    by_name = {status.value.lower(): found.get(status, 0) for status in Status}
    return TaskCounts(total=sum(found.values()), **by_name, stages=stages)


def _task(row: TaskRow) -> TaskView:
    return from_fields(
        TaskView,
        row,
        status=Status(row.status),
        attempt=row.attempt or 0,
        due_at=clock.moment(row.due_at),
        started_at=clock.moment(row.started_at),
        finished_at=clock.moment(row.finished_at),
        progress=progress_of(row.progress),
        failure=None if row.failure is None else canonical.decode(row.failure),
    )
