"""Reads for people: jobs, their tasks, the journal, and the health of the database. Changes nothing."""

from msgspec import Struct

from leasehold.model.journal.event import Event
from leasehold.model.status import Status
from leasehold.store.db.database import Noun
from leasehold.store.db.documents import document


class JobRow(Struct, frozen=True):
    """A job as it is stored; texts are canonical JSON."""

    id: int
    kind: str
    key: str
    payload: str
    status: str
    output: str | None
    failure: str | None
    created_at: int
    finished_at: int | None
    has_parts: bool


class TaskRow(Struct, frozen=True):
    id: int
    parent_id: int | None
    stage: str | None
    segment: int | None
    queue: str
    status: str
    attempt: int | None
    attempts_max: int
    due_at: int | None
    fence: int | None
    expires_at: int | None
    started_at: int | None
    progress: str | None
    host: str | None
    pid: int | None
    failure: str | None
    finished_at: int | None


class Health(Struct, frozen=True):
    """The facts that `leasehold doctor` checks."""

    now: int
    waiting: int
    ready: int
    running: int
    unsettled: int
    expired_at: int | None
    workers: int
    version: str


class Remaining(Struct, frozen=True):
    ready: int
    running: int
    due: int
    unsettled: int


class JournalCounts(Struct, frozen=True):
    """One task's journal, counted. `fence`: of the attempt that settled it; `outcomes`: rows, also past; else lines."""

    task_id: int
    job_id: int
    status: str | None
    fence: int | None
    outcomes: int
    claims: int
    releases: int
    reclaims: int
    endings: int
    revivals: int = 0


class Reports(Noun):
    def job(self, job_id: int) -> JobRow | None:
        rows = self._database.read("reports/job", job=job_id)
        return JobRow(*rows[0]) if rows else None

    def jobs(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        queue: str | None = None,
        before: int | None = None,
        most: int = 50,
    ) -> list[JobRow]:
        name = "reports/jobs_recent" if status in (None, Status.DONE) else "reports/jobs"
        return self._list(JobRow, name, status=status, kind=kind, queue=queue, before=before, most=most)

    def tasks(self, job_id: int, most: int = 1_000) -> list[TaskRow]:
        return self._list(TaskRow, "reports/tasks", job=job_id, most=most)

    def events(self, job_id: int, after: int = 0, most: int = 1_000) -> list[Event]:
        return self._list(Event, "reports/events", job=job_id, after=after, most=most)

    def journal_counts(self, after: int = 0, most: int = 1_000) -> list[JournalCounts]:
        """Count the journal lines of each task, in the order of ids, after the task `after`."""
        return self._list(JournalCounts, "reports/journal_counts", after=after, most=most)

    def health(self) -> Health:
        return Health(*self._database.read("reports/health")[0])

    def remaining(self, routes: list[str], queues: list[str]) -> Remaining:
        rows = self._database.read("reports/remaining", routes=document(routes), queues=document(queues))
        return Remaining(*rows[0])
