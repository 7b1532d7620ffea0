"""What holds a job up: the facts of `explain`, read at one moment. Changes nothing."""

from collections.abc import Iterable

from msgspec import Struct, structs

from leasehold.model.failure.loss import SUSPECT_PREFIX
from leasehold.model.names import base_of, family_of
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document
from leasehold.store.workers import RegisteredWorker, list_workers

TASKS_LOOK_MAX = 11_000
HOLDERS_LOOK_MAX = 3
AHEAD_LOOK_MAX = 1_000
ROUTES_LOOK_MAX = 1_000


class JobStanding(Struct, frozen=True):
    """A job at a moment. `unsettled`: ends of its tasks that the orchestrator has not seen."""

    now: int
    kind: str
    status: str
    failure: str | None
    finished_at: int | None
    unsettled: bool


class OpenTask(Struct, frozen=True):
    """A task that has not ended. `since`: its last event; `setback`: the detail of its last retry or reclaim."""

    id: int
    stage: str | None
    segment: int | None
    queue: str
    priority: int
    route: str | None
    position: int | None
    attempt: int
    attempts_max: int
    losses: int
    place: str
    due_at: int | None
    worker: int | None
    host: str | None
    boot: str | None
    pid: int | None
    expires_at: int | None
    started_at: int | None
    progress: str | None
    cancel_reason: str | None
    since: int
    setback: str | None

    @property
    def is_suspect(self) -> bool:
        """Whether it has lost two workers or more: its route is one that ordinary claims pass over."""
        return self.route is not None and self.route.startswith(SUSPECT_PREFIX)

    @property
    def holder(self) -> str:
        """Who holds its lease; a manual lease has an owner without a process."""
        return f"{self.host}:{self.pid}" if self.boot else str(self.host)


class UnmetNeed(Struct, frozen=True):
    """A prerequisite that has not ended: a stage, with how many parts it has and how many of them have ended."""

    task_id: int
    stage: str
    parts: int
    ended: int


class SlotHolder(Struct, frozen=True):
    """A task that holds a slot of a limited queue."""

    job_id: int
    kind: str
    key: str
    started_at: int
    host: str | None
    pid: int | None


class QueueStanding(Struct, frozen=True):
    """What was set for a queue; `paused_by` and `limited_by` name the queue, branch or family where it was set."""

    name: str
    paused_by: str | None
    limited_by: str | None
    capacity: int | None
    pace_us: int | None
    held: int
    free_at: int | None
    holders: list[SlotHolder] = []


class ReadyRoute(Struct, frozen=True):
    """How many tasks of a queue and route are ready, and the job of the first."""

    queue: str
    route: str
    tasks: int
    job_id: int


class Standing(Struct, frozen=True):
    """Everything that decides why a job does not run. `ahead`: ready tasks before the first ready one of each queue."""

    job_id: int
    job: JobStanding
    tasks: list[OpenTask]
    needs: list[UnmetNeed]
    queues: dict[str, QueueStanding]
    ahead: dict[str, int]
    workers: list[RegisteredWorker]


class HoldUps(Noun):
    def of(self, job_id: int) -> Standing | None:
        """Read what holds a job up; None if there is no such job."""

        def work(session: Session) -> Standing | None:
            if not self._database.is_bound:  # else the caller's transaction decides what is seen
                session.run("records/snapshot")
            return _standing(session, job_id)

        return self._database.read_transaction(work)

    def ready(self) -> list[ReadyRoute]:
        return self._list(ReadyRoute, "holdups/ready", most=ROUTES_LOOK_MAX)


def _standing(session: Session, job_id: int) -> Standing | None:
    found = session.run("holdups/job", job=job_id)
    if not found:
        return None
    job = JobStanding(*found[0])
    tasks = [OpenTask(*row) for row in session.run("holdups/tasks", job=job_id, most=TASKS_LOOK_MAX)]
    needs = [UnmetNeed(*row) for row in session.run("holdups/needs", job=job_id)]
    ready = [task for task in tasks if task.place == "ready"]
    queues = _queues(session, {task.queue for task in tasks})
    return Standing(job_id, job, tasks, needs, queues, _ahead(session, ready), list_workers(session))


def _queues(session: Session, names: Iterable[str]) -> dict[str, QueueStanding]:
    wanted = [{"name": name, "base": base_of(name), "family": family_of(name)} for name in sorted(names)]
    found = [QueueStanding(*row) for row in session.run("holdups/queues", queues=document(wanted))]
    return {queue.name: _with_holders(session, queue) for queue in found}


def _with_holders(session: Session, queue: QueueStanding) -> QueueStanding:
    if queue.capacity is None or queue.held < queue.capacity:
        return queue
    rows = session.run("holdups/holders", queue=queue.name, most=HOLDERS_LOOK_MAX)
    return structs.replace(queue, holders=[SlotHolder(*row) for row in rows])


def _ahead(session: Session, ready: Iterable[OpenTask]) -> dict[str, int]:
    first: dict[str, OpenTask] = {}
    for task in ready:
        known = first.setdefault(task.queue, task)
        if (-task.priority, task.position or 0) < (-known.priority, known.position or 0):
            first[task.queue] = task
    return {queue: _count_ahead(session, task) for queue, task in first.items()}


def _count_ahead(session: Session, task: OpenTask) -> int:
    place = {"queue": task.queue, "priority": task.priority, "position": task.position}
    return int(session.run("holdups/ahead", **place, most=AHEAD_LOOK_MAX)[0][0])
