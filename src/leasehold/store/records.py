"""Everything stored about one job, read at one moment."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from leasehold.model.delivery import mark_of, marks_in
from leasehold.model.journal.event import Event, Name
from leasehold.model.journal.record import value_of
from leasehold.model.limits import IDLE_MS_MAX
from leasehold.model.outbox import DeliveryRow
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.effects import EffectFacts

TASKS_PAGE: Final = 250
MESSAGES_PAGE: Final = 50

T = TypeVar("T")


class TaskFacts(Struct, frozen=True):
    """A task and its state. `place`: the tables other than `outcome` that hold a row of it, usually one or none."""

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
    unmet: int  # how many tasks it had to wait for when it was submitted: its stages, or its prerequisites
    place: str
    due_at: int | None
    attempt: int | None
    fence: int | None
    stored_epoch: int | None
    ready_queue: str | None
    ready_priority: int | None
    ready_route: str | None
    losses: int | None


class OutcomeFacts(Struct, frozen=True):
    task_id: int
    epoch: int
    fence: int
    status: str
    output: str | None
    failure: str | None
    finished_at: int
    past: bool


class LetterFacts(Struct, frozen=True):
    """A dead letter; `resolved`: the audit trail has a line for it."""

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


class SpendFacts(Struct, frozen=True):
    task_id: int
    key: str
    name: str
    amount: int
    remaining: int
    fence: int
    at: int


class LinkFacts(Struct, frozen=True):
    """A linked job; without `kind` and `job`, its key, it is missing."""

    task_id: int
    key: str
    child: int
    kind: str | None
    job: str | None


class BudgetFacts(Struct, frozen=True):
    """A budget; `paid`: the sum of what the job and all jobs below it have on the ledger."""

    name: str
    most: int
    spent: int
    paid: int


class Outbox(Struct, frozen=True):
    """`present`: the marks of those messages of some tasks that are in the outbox, whichever task posted them first."""

    present: frozenset[str] = frozenset()
    pruned_at: int = 0  # when jobs were last pruned with their messages; 0 if never, or if nothing is missing


class StoredTask(Struct, frozen=True):
    """One task with everything stored about it. `marks`: by event, then the head of the chain.

    Set for a job's first task only: `orphan` names a row of the job whose task is missing; `states` holds the job's
    states in its machine, `budgets` its own. `outbox` is shared by many tasks.
    """

    task: TaskFacts
    after: Sequence[str]
    events: Sequence[Event]
    effects: Sequence[EffectFacts]
    outcomes: Sequence[OutcomeFacts]
    letters: Sequence[LetterFacts]
    deliveries: Sequence[DeliveryRow]
    spends: Sequence[SpendFacts] = ()
    links: Sequence[LinkFacts] = ()
    marks: Sequence[tuple[int | None, bytes | None]] = ()
    orphan: str = ""
    outbox: Outbox = Outbox()
    states: Mapping[str, str] = {}
    budgets: Sequence[BudgetFacts] = ()


class Records(Noun):
    def read(self, job_id: int, visit: Callable[[Iterator[StoredTask]], T]) -> T:
        """Call `visit` with a job's tasks as they are at one moment; after a database error it is called again."""

        def work(session: Session) -> T:
            if not self._database.is_bound:
                session.run("records/snapshot")
                session.run("session/idle_limit", limit=str(IDLE_MS_MAX))
            return visit(_tasks(session, job_id))

        return self._database.read_transaction(work)


def _tasks(session: Session, job_id: int) -> Iterator[StoredTask]:
    trunk = fan = part = -1
    while True:
        rows = session.run("records/tasks", job=job_id, trunk=trunk, fan=fan, part=part, most=TASKS_PAGE)
        tasks = [TaskFacts(*row) for row in rows]
        yield from _with_rows(session, job_id, tasks, is_first=trunk < 0)
        if len(tasks) < TASKS_PAGE:
            return
        trunk, fan, part = tasks[-1].trunk, tasks[-1].fan, tasks[-1].part


def _with_rows(session: Session, job_id: int, tasks: Sequence[TaskFacts], *, is_first: bool) -> Iterator[StoredTask]:
    ids = document([task.id for task in tasks])
    rows = {
        "after": _by_task(session.run("records/needs", tasks=ids), lambda _, stage: stage),
        "events": _by_task(session.run("records/events", tasks=ids), Event, column=1),
        "effects": _by_task(session.run("records/effects", job=job_id, tasks=ids), EffectFacts),
        "outcomes": _by_task(session.run("records/outcomes", tasks=ids), OutcomeFacts),
        "letters": _by_task(session.run("records/dead_letters", tasks=ids), LetterFacts),
        "deliveries": _by_task(session.run("records/deliveries", tasks=ids), DeliveryRow, column=1),
        "spends": _by_task(session.run("records/spends", job=job_id, tasks=ids), SpendFacts),
        "links": _by_task(session.run("records/links", job=job_id, tasks=ids), LinkFacts),
        "marks": _by_task(session.run("records/marks", tasks=ids), lambda _, event, mark: (event, mark)),
    }
    outbox = _outbox(session, rows["events"].values(), rows["deliveries"].values())
    lost = session.run("records/orphans", job=job_id) if is_first else []
    orphan = f"there is {lost[0][1]} of a task (id {lost[0][0]}) that is missing" if lost else ""
    states: dict[str, str] = dict(session.run("records/states", job=job_id)) if is_first else {}
    budgets = [BudgetFacts(*row) for row in session.run("records/budgets", job=job_id)] if is_first else []
    for task in tasks:
        stored = {name: by_task[task.id] for name, by_task in rows.items()}
        yield StoredTask(task=task, **stored, orphan=orphan, outbox=outbox, states=states, budgets=budgets)
        orphan, states, budgets = "", {}, []


def _outbox(session: Session, events: Iterable[Sequence[Event]], deliveries: Iterable[Sequence[DeliveryRow]]) -> Outbox:
    """Find the messages that these tasks posted: among their own, and if some are not there, among all."""
    ends = (event for many in events for event in many if event.name == Name.DONE and event.fence is not None)
    wanted = {mark for end in ends if end.detail for mark in marks_in(value_of(end.detail))}
    found = wanted.intersection(delivery.mark for many in deliveries for delivery in many)
    after = 0
    while wanted - found:
        rows = session.run("records/messages", after=after, most=MESSAGES_PAGE)
        found |= wanted.intersection(mark_of(*row[1:]) for row in rows)
        if len(rows) < MESSAGES_PAGE:
            break
        after = rows[-1][0]
    return Outbox(frozenset(found), session.run("records/pruned")[0][0] if wanted - found else 0)


def _by_task(rows: Sequence[Row], make: Callable[..., Any], column: int = 0) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(make(*row))
    return found
