"""Queues as operators set them: paused, limited, and what stands in them."""

from __future__ import annotations

from msgspec import Struct

from leasehold.model.limits import QUEUE_LIMIT_MAX
from leasehold.store.database import Database, Session
from leasehold.store.documents import document


class Queue(Struct, frozen=True):
    """One queue: its settings and how much stands in it."""

    name: str
    paused: bool
    capacity: int | None
    waiting: int
    ready: int
    running: int


class Queues:
    """The noun `store.queues`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Queue]:
        """List every queue that holds work or has been set."""
        return [Queue(row[0], bool(row[1]), *row[2:]) for row in self._database.read("queues")]

    def pause(self, name: str) -> None:
        """Have nobody claim from this queue; what runs goes on."""
        self._database.write("queue_pause", queue=name, paused=True)

    def resume(self, name: str) -> None:
        """Let workers claim from this queue again."""
        self._database.write("queue_pause", queue=name, paused=False)

    def limit(self, name: str, capacity: int | None) -> None:
        """Let at most `capacity` tasks of this queue run at once, counting those that run now; None lifts the limit."""
        self._database.transact(lambda session: _limit(session, name, capacity))


def _limit(session: Session, name: str, capacity: int | None) -> None:
    session.run("leases_lock")  # a claim that did not see this limit has ended by then, and is given its slots here
    session.run("queue_limit", queue=name, capacity=capacity)
    if capacity is not None:
        session.run("slots_make", queue=name, capacity=capacity)
        _give_slots(session, name, capacity)


def _give_slots(session: Session, name: str, capacity: int) -> None:
    tasks = [row[0] for row in session.run("unslotted", queue=name, most=QUEUE_LIMIT_MAX)]
    if not tasks:
        return
    session.run("slots_make", queue=name, capacity=capacity + len(tasks))
    free = session.run("slots_free", queue=name, most=len(tasks), ceiling=2 * QUEUE_LIMIT_MAX)
    pairs = [{"number": row[0], "task_id": task_id} for row, task_id in zip(free, tasks, strict=False)]
    session.run("slots_fill", queue=name, slots=document(pairs))
    session.run("lease_limited", tasks=document([pair["task_id"] for pair in pairs]))
