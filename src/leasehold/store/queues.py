"""Queues: paused and limited by operators, and what they hold."""

from typing import Any, Final

from msgspec import Struct

from leasehold import clock
from leasehold.model.limits import BRANCHES_LOOK_MAX, QUEUE_LIMIT_MAX
from leasehold.model.names import EACH_BRANCH, family_of
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document

EACH: Final = f"/{EACH_BRANCH}"


class Queue(Struct, frozen=True):
    """One queue: its settings, and how many of its tasks stand where. `rate`: starts per second, if limited."""

    name: str
    paused: bool
    capacity: int | None
    waiting: int
    ready: int
    running: int
    rate: float | None = None


class RunningRow(Struct, frozen=True):
    """One task that runs now; `progress` is canonical JSON."""

    job_id: int
    kind: str
    stage: str | None
    segment: int | None
    key: str
    attempt: int
    started_at: int
    progress: str | None


def _queue(name: str, paused: object, *places: Any) -> Queue:
    capacity, waiting, ready, running, pace_us = places
    rate = None if pace_us is None else clock.SECOND / pace_us
    return Queue(name, bool(paused), capacity, waiting, ready, running, rate)


class Queues(Noun):
    def all(self) -> list[Queue]:
        """List every queue that holds work or has been set."""
        return [_queue(*row) for row in self._database.read("queues/list")]

    def pause(self, name: str) -> None:
        self._database.write("queues/pause", queue=name, paused=True)

    def resume(self, name: str) -> None:
        self._database.write("queues/pause", queue=name, paused=False)

    def limit(self, name: str, capacity: int | None, pace_us: int | None = None) -> None:
        """Let at most `capacity` tasks of this queue run at once, counting those that run now; None lifts the limit.

        With `pace_us` they start on average so far apart. `name/*` means each branch of the queue.
        """
        self._database.transact(lambda session: _limit(session, name, capacity, pace_us))

    def running(self, name: str, most: int) -> list[RunningRow]:
        """List the running tasks of this queue and its branches, longest first."""
        return self._list(RunningRow, "queues/running", queue=name, most=most)

    def branches(self, after: str = "", most: int = BRANCHES_LOOK_MAX) -> list[str]:
        """List branches of any queue in which something is ready, in the order of their names."""
        return [row[0] for row in self._database.read("queues/branches", after=after, most=most)]


def _limit(session: Session, name: str, capacity: int | None, pace_us: int | None) -> None:
    session.run("queues/lock_leases")  # claims that did not see this limit have ended, and get their slots here
    session.run("queues/limit", queue=name, capacity=capacity, pace_us=pace_us)
    if capacity is not None:
        if not name.endswith(EACH):
            session.run("queues/make_slots", queue=name, family="", capacity=capacity)
        _give_slots(session, name, capacity)


def _give_slots(session: Session, name: str, capacity: int) -> None:
    running: dict[str, list[int]] = {}
    for queue, task_id in session.run("queues/running_without_slot", queue=name, most=QUEUE_LIMIT_MAX):
        running.setdefault(queue, []).append(task_id)
    for queue, tasks in running.items():
        known = {"queue": queue, "family": family_of(queue)}
        session.run("queues/make_slots", **known, capacity=capacity + len(tasks))
        free = session.run("queues/free_slots", **known, most=len(tasks), ceiling=2 * QUEUE_LIMIT_MAX)
        pairs = [{"number": row[0], "task_id": task_id} for row, task_id in zip(free, tasks, strict=False)]
        session.run("queues/fill_slots", **known, slots=document(pairs))
        session.run("queues/lease_limited", tasks=document([pair["task_id"] for pair in pairs]))
