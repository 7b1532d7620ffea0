"""One job in full: its tasks with their leases, and its journal as a time line. Times are the database's."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, to_builtins

from leasehold import canonical, clock
from leasehold.insight.read import deadletters, jobs, tasks
from leasehold.insight.read.deadletters import DeadLetter
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.insight.read.tasks import TASKS_MAX, TaskCounts
from leasehold.model.journal.event import Event
from leasehold.model.limits import PAGE_MAX
from leasehold.shapes import from_fields
from leasehold.store import Store
from leasehold.store.reports import TaskRow

LINES_MAX: Final = 50_000


class Holder(Struct, frozen=True):
    """The holder of a task's lease. `expires_in` is in seconds, negative once it has expired."""

    host: str
    pid: int
    fence: int
    expires_in: float
    held_for: float


class JobPart(Struct, frozen=True):
    """One task of the job: the job itself, a stage, or a segment of one. See `TaskView`."""

    id: int
    parent_id: int | None
    stage: str | None
    segment: int | None
    queue: str
    status: str
    attempt: int
    attempts_max: int
    losses: int
    due_in: float | None
    holder: Holder | None
    progress: Any
    failure: dict[str, Any] | None


class Moment(Struct, frozen=True):
    """One line of the journal; `since` counts seconds from the submit."""

    id: int
    task_id: int
    since: float
    name: str
    attempt: int | None
    fence: int | None
    worker: int | None
    detail: Any


class Timeline(Struct, frozen=True):
    """A job, its parts, its dead letters, and the latest lines of its journal; `earlier` counts the lines before."""

    job: JobSnapshot
    parts: list[JobPart]
    moments: list[Moment]
    earlier: int
    letters: list[DeadLetter]
    counts: TaskCounts

    def plain(self) -> dict[str, Any]:
        found: dict[str, Any] = to_builtins({"counts": self.counts, "tasks": self.parts, "events": self.moments})
        letters = [letter.id for letter in self.letters]
        return {**self.job.plain(), **found, "events_left_out": self.earlier, "dead_letters": letters}


def read(store: Store, job_id: int, *, lines: int = PAGE_MAX) -> Timeline:
    """Read a job with its latest `lines` of the journal, or raise `JobUnknown`."""
    job = jobs.find(store, job_id)
    start = clock.microseconds(job.created_at.timestamp())
    kept: deque[Event] = deque(maxlen=lines)
    count = 0
    for event in _journal(store, job_id):
        count += 1
        kept.append(event)
    now = store.reports.health().now
    parts = [_part(row, now) for row in store.reports.tasks(job_id, TASKS_MAX)]
    letters = deadletters.of_job(store, job_id)
    moments = [_moment(event, start) for event in kept]
    return Timeline(job, parts, moments, count - len(kept), letters, tasks.counts(store, job_id))


def _journal(store: Store, job_id: int) -> Iterator[Event]:
    after = 0
    for _ in range(0, LINES_MAX, PAGE_MAX):
        page = store.reports.events(job_id, after, PAGE_MAX)
        yield from page
        if len(page) < PAGE_MAX:
            return
        after = page[-1].id


def _part(row: TaskRow, now: int) -> JobPart:
    return from_fields(
        JobPart,
        row,
        attempt=row.attempt or 0,
        due_in=None if row.due_at is None else _seconds(row.due_at - now),
        holder=_holder(row, now),
        progress=_value(row.progress),
        failure=_value(row.failure),
    )


def _holder(row: TaskRow, now: int) -> Holder | None:
    if row.expires_at is None or row.started_at is None or row.fence is None:
        return None
    expires_in, held_for = _seconds(row.expires_at - now), _seconds(now - row.started_at)
    return Holder(row.host or "?", row.pid or 0, row.fence, expires_in, held_for)


def _moment(event: Event, start: int) -> Moment:
    return from_fields(Moment, event, since=_seconds(event.at - start), detail=_value(event.detail))


def _value(text: str | None) -> Any:
    return None if text is None else canonical.decode(text)


def _seconds(microseconds: int) -> float:
    return microseconds / clock.SECOND
