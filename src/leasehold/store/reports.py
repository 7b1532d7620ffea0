"""Reads for people: jobs, their tasks, the journal, and the health of the database. Changes nothing."""

from msgspec import Struct

from leasehold.model.journal.event import Event
from leasehold.model.names import key_range
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
    losses: int
    due_at: int | None
    fence: int | None
    expires_at: int | None
    started_at: int | None
    progress: str | None
    host: str | None
    pid: int | None
    failure: str | None
    finished_at: int | None


class TaskCount(Struct, frozen=True):
    stage: str | None
    status: str
    tasks: int


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


class Pin(Struct, frozen=True):
    """What keeps PostgreSQL from removing dead rows: a transaction, a prepared one, a slot; or how many are hidden."""

    what: str
    name: str
    age_us: int | None
    detail: str | None


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

    def job_by_key(self, kind: str, key: str) -> JobRow | None:
        rows = self._database.read("tasks/find_by_key", keys=document([{"kind": kind, "key": key}]))
        return self.job(rows[0][0]) if rows else None

    def jobs(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        queue: str | None = None,
        key_prefix: str = "",
        before: int | None = None,
        most: int = 50,
    ) -> list[JobRow]:
        """List jobs, newest first; with `key_prefix`, of this kind only."""
        filters = {"status": status, "kind": kind, "queue": queue, "before": before, "most": most}
        if key_prefix:
            low, high = key_range(key_prefix)
            return self._list(JobRow, "reports/jobs_by_key", **filters, low=low, high=high)
        name = "reports/jobs_recent" if status in (None, Status.DONE) else "reports/jobs"
        return self._list(JobRow, name, **filters)

    def tasks(self, job_id: int, most: int = 1_000) -> list[TaskRow]:
        return self._list(TaskRow, "reports/tasks", job=job_id, most=most)

    def task_counts(self, job_id: int) -> list[TaskCount]:
        return self._list(TaskCount, "reports/task_counts", job=job_id)

    def events(self, job_id: int, after: int = 0, most: int = 1_000) -> list[Event]:
        return self._list(Event, "reports/events", job=job_id, after=after, most=most)

    def journal_counts(self, after: int = 0, most: int = 1_000) -> list[JournalCounts]:
        """Count the journal lines of each task, in the order of ids, after the task `after`."""
        return self._list(JournalCounts, "reports/journal_counts", after=after, most=most)

    def health(self) -> Health:
        return Health(*self._database.read("reports/health")[0])

    def pins(self, age_us: int) -> list[Pin]:
        """List transactions older than this and slots without a reader, which keep dead rows from being removed."""
        return self._list(Pin, "reports/pins", age=age_us)

    def remaining(self, routes: list[str], queues: list[str]) -> Remaining:
        rows = self._database.read("reports/remaining", routes=document(routes), queues=document(queues))
        return Remaining(*rows[0])
