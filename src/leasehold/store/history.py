"""What was: everything on record of a job, read at one moment; the journal, followed; and old jobs, pruned.

Lines of the journal are numbered when they are written and seen when they are committed, which on PostgreSQL may be in
another order. Whatever was numbered before a moment is settled once every transaction of that moment has ended: every
statement that writes an event has written another row before, so its transaction was under way by then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from leasehold.model.delivery import mark_of, marks_in
from leasehold.model.journal.event import Event, Name
from leasehold.model.journal.record import value_of
from leasehold.model.limits import IDLE_MS_MAX, PAGE_MAX
from leasehold.store.audit import note
from leasehold.store.db.database import Database, Row, Session
from leasehold.store.db.documents import document

TASKS_PAGE: Final = 250
JOBS_PAGE: Final = 100
POSTS_PAGE: Final = 50

T = TypeVar("T")


class TaskFacts(Struct, frozen=True):
    """A task, and where it stands: `place` names the tables other than `outcome`, usually one or none.

    `unmet`: how many rows there are of what it had to wait for when it was submitted: stages, or needs.
    """

    id: int
    trunk: int
    fan: int
    part: int
    kind: str
    stage: str | None
    segment: int | None
    epoch: int
    key: str | None
    payload: str | None
    item: str | None
    each_field: str | None
    queue: str
    priority: int
    attempts_max: int
    lease_ms: int
    on_lost: str
    created_at: int
    parent_id: int | None
    unmet: int
    place: str
    due_at: int | None
    attempt: int | None
    fence: int | None
    standing_epoch: int | None
    ready_queue: str | None
    ready_priority: int | None
    ready_route: str | None


class EffectFacts(Struct, frozen=True):
    """An effect; texts are canonical JSON."""

    task_id: int
    key: str
    number: int
    kind: str
    fields: str
    fence: int
    attempt: int
    result: str | None
    failure: str | None
    intended_at: int
    recorded_at: int | None


class OutcomeFacts(Struct, frozen=True):
    """How one epoch of a task ended."""

    task_id: int
    epoch: int
    fence: int
    status: str
    output: str | None
    failure: str | None
    finished_at: int
    past: bool


class LetterFacts(Struct, frozen=True):
    """A dead letter; `resolved`: so says the audit trail."""

    task_id: int
    epoch: int
    fence: int
    error_class: str
    failure: str
    attempts: int
    first_failure_at: int
    last_failure_at: int
    escalated: bool
    state: str
    resolved: bool


class DeliveryFacts(Struct, frozen=True):
    """A delivery."""

    task_id: int
    subject: str
    recipient: str
    version: int
    message: str
    provider: str
    status: str
    attempts: int
    notification_id: str | None
    notified_at: int | None
    failure: str | None
    created_at: int

    @property
    def mark(self) -> str:
        """What the end of its task tells of it."""
        return mark_of(self.subject, self.recipient, self.version, self.message, self.provider)


class JournalLine(Struct, frozen=True):
    """One line of the journal with what its task is."""

    id: int
    job_id: int
    task_id: int
    kind: str
    stage: str | None
    segment: int | None
    at: int
    name: str
    fence: int | None
    attempt: int | None
    worker: int | None
    detail: str | None


class Horizon(Struct, frozen=True):
    """Lines up to `newest` are settled when no transaction before `next` is under way; `oldest` is the first."""

    newest: int
    oldest: int
    next: int


class Old(Struct, frozen=True):
    """A job that was looked at: whether it was submitted long ago, its size, and whether it may go."""

    id: int
    old: bool
    tasks: int
    prunable: bool


class Pruned(Struct, frozen=True):
    """How much went."""

    jobs: int = 0
    tasks: int = 0
    events: int = 0
    effects: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        """Add up two batches."""
        return Pruned(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Outbox(Struct, frozen=True):
    """Which of the messages that some tasks posted stand in the outbox, whoever posted them first: their marks.

    `pruned_at`: when jobs were pruned last, with messages of theirs; 0 if never, or if nothing is missing.
    """

    standing: frozenset[str] = frozenset()
    pruned_at: int = 0


class Part(Struct, frozen=True):
    """One task with all that is on record about it, as it is stored. `marks`: by event, then the head.

    Of a job's first task: `stray`, something of the job's whose task is not there, and `states`, where it stands in its
    machine. `outbox` is shared by many tasks.
    """

    task: TaskFacts
    after: Sequence[str]
    events: Sequence[Event]
    effects: Sequence[EffectFacts]
    outcomes: Sequence[OutcomeFacts]
    letters: Sequence[LetterFacts]
    deliveries: Sequence[DeliveryFacts]
    marks: Sequence[tuple[int | None, bytes | None]] = ()
    stray: str = ""
    outbox: Outbox = Outbox()
    states: Mapping[str, str] = {}


class History:
    """The noun `store.history`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, job_id: int, visit: Callable[[Iterator[Part]], T]) -> T:
        """Have `visit` see a job's tasks as they are at one moment; after trouble it is called again from the start."""

        def work(session: Session) -> T:
            if not self._database.is_bound:
                session.run("records/snapshot")
                session.run("session/idle_limit", limit=str(IDLE_MS_MAX))
            return visit(_parts(session, job_id))

        return self._database.read_transaction(work)

    def horizon(self) -> Horizon:
        """Tell which lines of the journal have been numbered, and which transactions are under way after that."""
        newest = self._database.read("journal/newest")[0][0]
        return Horizon(newest, *self._database.read("journal/horizon")[0])

    def follow(self, job_id: int | None, after: int, upto: int, most: int = PAGE_MAX) -> list[JournalLine]:
        """Read the journal of one job, or of all, after the line `after` as far as `upto`."""
        if job_id is not None:
            rows = self._database.read("journal/follow_job", job=job_id, after=after, upto=upto, most=most)
        else:
            rows = self._database.read_transaction(lambda session: _follow(session, after, upto, most))
        return [JournalLine(*row) for row in rows]

    def pruned(self, jobs: Collection[int]) -> set[int]:
        """Tell which of these jobs are not there and may have been pruned: all that are not, if ever any was."""
        if self._database.read("records/pruned")[0][0] == 0:
            return set()
        return set(jobs) - {row[0] for row in self._database.read("journal/known", jobs=document(sorted(jobs)))}

    def old(self, age_us: int, kind: str | None, after: int, most: int = JOBS_PAGE) -> list[Old]:
        """Look at jobs, oldest first, after the job `after`; tell which ended longer ago than `age_us` and may go."""
        rows = self._database.read("retention/find_prunable", age=age_us, kind=kind, after=after, most=most)
        return [Old(row[0], bool(row[1]), row[2], bool(row[3])) for row in rows]

    def prune(self, jobs: Sequence[int], principal: str) -> Pruned:
        """Remove jobs that `old` said may go; nothing brings such a job back to life. One transaction, on the audit."""

        def work(session: Session) -> Pruned:
            pruned = Pruned(*session.run("retention/prune", jobs=document(jobs))[0])
            told = {name: getattr(pruned, name) for name in pruned.__struct_fields__}
            note(session, principal, "prune", "job", jobs[0], {**told, "last_job": jobs[-1]})
            return pruned

        return self._database.transact(work)

    def prune_workers(self, age_us: int) -> int:
        """Remove a batch of worker processes that ended longer ago than that; tell how many."""
        return len(self._database.write("retention/prune_workers", age=age_us, most=PAGE_MAX))


def _follow(session: Session, after: int, upto: int, most: int) -> list[Row]:
    session.run("journal/plan")
    return session.run("journal/follow", after=after, upto=upto, most=most)


def _parts(session: Session, job_id: int) -> Iterator[Part]:
    trunk = fan = part = -1
    while True:
        rows = session.run("records/tasks", job=job_id, trunk=trunk, fan=fan, part=part, most=TASKS_PAGE)
        tasks = [TaskFacts(*row) for row in rows]
        yield from _filled(session, job_id, tasks, is_first=trunk < 0)
        if len(tasks) < TASKS_PAGE:
            return
        trunk, fan, part = tasks[-1].trunk, tasks[-1].fan, tasks[-1].part


def _stray(session: Session, job_id: int) -> str:
    rows = session.run("records/unlisted_tasks", job=job_id)
    return f"there is {rows[0][1]} of a task (id {rows[0][0]}) that is missing" if rows else ""


def _filled(session: Session, job_id: int, tasks: Sequence[TaskFacts], *, is_first: bool) -> Iterator[Part]:
    ids = document([task.id for task in tasks])
    after = _by_task(session.run("records/needs", tasks=ids), lambda row: row[1])
    events = _by_task(session.run("records/events", tasks=ids), lambda row: Event(*row), column=1)
    effects = _by_task(session.run("records/effects", job=job_id, tasks=ids), lambda row: EffectFacts(*row))
    outcomes = _by_task(session.run("records/outcomes", tasks=ids), lambda row: OutcomeFacts(*row))
    letters = _by_task(session.run("records/dead_letters", tasks=ids), lambda row: LetterFacts(*row))
    deliveries = _by_task(session.run("records/deliveries", tasks=ids), lambda row: DeliveryFacts(*row))
    marks = _by_task(session.run("records/marks", tasks=ids), lambda row: (row[1], row[2]))
    outbox = _outbox(session, events.values(), deliveries.values())
    stray = _stray(session, job_id) if is_first else ""
    states: dict[str, str] = dict(session.run("records/states", job=job_id)) if is_first else {}
    for task in tasks:
        one = task.id
        told = after[one], events[one], effects[one], outcomes[one], letters[one], deliveries[one], marks[one]
        yield Part(task, *told, outbox=outbox, stray=stray, states=states)
        stray, states = "", {}


def _outbox(
    session: Session, events: Iterable[Sequence[Event]], deliveries: Iterable[Sequence[DeliveryFacts]]
) -> Outbox:
    """Look for the messages that these tasks posted: among their own, and if some are not there, among all."""
    told = (one.detail for many in events for one in many if one.name == Name.DONE and one.fence is not None)
    wanted = {mark for detail in told if detail for mark in marks_in(value_of(detail))}
    found = wanted.intersection(one.mark for many in deliveries for one in many)
    after = 0
    while wanted - found:
        rows = session.run("records/messages", after=after, most=POSTS_PAGE)
        found |= wanted.intersection(mark_of(*row[1:]) for row in rows)
        if len(rows) < POSTS_PAGE:
            break
        after = rows[-1][0]
    return Outbox(frozenset(found), session.run("records/pruned")[0][0] if wanted - found else 0)


def _by_task(rows: Sequence[Row], make: Callable[[Row], Any], column: int = 0) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(make(row))
    return found
