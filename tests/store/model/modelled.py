"""A queue as a dictionary: what both databases must do with leases, written down in the plainest way.

What the ends of tasks mean for others, pipelines and revivals, is in modelled_jobs; effects and messages are in
modelled_outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

LEASE_SECONDS = 30
ENDED = ("DONE", "ERROR", "CANCELLED")
EVENTS = {"DONE": "done", "ERROR": "failed", "CANCELLED": "cancelled"}

Name = tuple[str, str | None, int | None, int]  # the job's key, stage, segment, and which fan-out made it
Line = tuple[str, int | None, int | None]  # an event's name, fence and attempt


@dataclass(eq=False)
class Entry:
    """One task. `place` is the table it stands in, the status it ended with, or `superseded`."""

    name: Name
    queue: str
    priority: int
    attempts_max: int
    on_lost: str
    number: int
    parent: Name | None = None
    needs: tuple[Name, ...] = ()
    fans_out: bool = False
    place: str = "ready"
    position: int = 0
    keeps_place: bool = False
    due: float | None = None
    unmet: int = 0
    fence: int = 0
    attempt: int = 0
    losses: int = 0
    epoch: int = 1
    expires: float = 0.0
    asked: bool = False
    output: Any = None
    spoilt: bool = False  # cancelled because of what it waited for
    unseen: bool = False  # ended, and no orchestrator has looked at it
    journal: list[Line] = field(default_factory=list)

    @property
    def stands_as(self) -> tuple[Any, ...]:
        """What the tables must hold about it."""
        unmet = self.unmet if self.place == "waiting" else 0
        attempt = self.attempt if self.place in ("waiting", "ready", "lease") else None
        losses = self.losses if attempt is not None else 0
        return self.place, self.fence, attempt, self.epoch, unmet, losses, self.unseen


@dataclass(frozen=True)
class Loss:
    """How a lease is taken back."""

    why: Literal["released", "owner gone", "expired"]
    began: bool = True
    delay: int = 0
    is_last: bool = False

    @property
    def counts(self) -> bool:
        return self.began and self.why != "released"


@dataclass
class Dead:
    """One letter."""

    name: Name
    epoch: int
    attempts: int
    error_class: str
    state: str = "open"
    evidenced: bool = False


@dataclass
class Model:
    """The tasks, the letters, and the time in seconds."""

    now: float = 0.0
    tasks: dict[Name, Entry] = field(default_factory=dict)
    letters: list[Dead] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    limits: dict[str, int] = field(default_factory=dict)
    positions: int = 0

    def add(self, name: Name, queue: str, priority: int, delay: float = 0, unmet: int = 0, **terms: Any) -> Entry:
        """Put a new task where it starts."""
        known: dict[str, Any] = {"attempts_max": 2, "on_lost": "requeue"}
        one = self.tasks[name] = Entry(name, queue, priority, number=len(self.tasks), **(known | terms))
        one.journal.append(("submitted", None, None))
        if unmet or delay:
            one.place, one.unmet, one.due = "waiting", unmet, None if unmet else self.now + delay
        else:
            self.make_ready(one)
        return one

    def make_ready(self, one: Entry) -> None:
        """Put a task behind all that are ready, or, if it was taken back, at its old place."""
        if not one.keeps_place:
            self.positions += 1
            one.position = self.positions
        one.place, one.due, one.unmet, one.keeps_place = "ready", None, 0, False

    def ready(self, queue: str) -> list[Entry]:
        """Return what stands ready in a queue, the next one first."""
        found = [one for one in self.tasks.values() if one.place == "ready" and one.queue == queue]
        return sorted(found, key=lambda one: (-one.priority, one.position))

    def claim(self, queues: Sequence[str], most: int) -> list[Entry]:
        """Lease the next ones, queue after queue."""
        taken: list[Entry] = []
        for queue in queues:
            if queue not in self.paused:
                room = self.limits[queue] - self._running(queue) if queue in self.limits else most
                taken += self.ready(queue)[: max(0, min(room, most - len(taken)))]
        for one in taken:
            one.place, one.fence, one.attempt = "lease", one.fence + 1, one.attempt + 1
            one.expires, one.asked = self.now + LEASE_SECONDS, False
            one.journal.append(("claimed", one.fence, one.attempt))
        return sorted(taken, key=lambda one: (-one.priority, one.position))

    def _running(self, queue: str) -> int:
        return sum(one.place == "lease" and one.queue == queue for one in self.tasks.values())

    def holds(self, name: Name, fence: int) -> bool:
        """Whether this is the task's lease, expired or not."""
        return self.tasks[name].place == "lease" and self.tasks[name].fence == fence

    def stands(self, name: Name, fence: int) -> bool:
        """Whether a lease is the one that stands."""
        return self.holds(name, fence) and self.tasks[name].expires > self.now

    def settle(self, name: Name, how: str, *, output: Any = None, delay: float = 0, error_class: str = "") -> None:
        """End an attempt whose lease stands."""
        one = self.tasks[name]
        if one.asked or how != "RETRY":
            self.end(one, "CANCELLED" if one.asked else how, (one.fence, one.attempt))
            one.output = output if one.place == "DONE" else None
            if one.place == "ERROR":
                self.bury(one, error_class)
        else:
            one.place, one.due, one.unmet = "waiting", self.now + delay, 0
            one.journal.append(("retried", one.fence, one.attempt))

    def reclaim(self, name: Name, loss: Loss) -> str:
        """Take back a lease; return the status that follows."""
        one = self.tasks[name]
        one.journal.append(("released" if loss.why == "released" else "reclaimed", one.fence, one.attempt))
        one.losses += loss.counts
        spent = loss.counts and (one.on_lost == "bury" or loss.is_last)
        if not one.asked and not spent:
            one.attempt -= not loss.counts
            one.keeps_place = True
            one.position = -abs(one.position) if one.losses > 1 else one.position  # suspects: the last one first
            if loss.delay:
                one.place, one.due, one.unmet = "waiting", self.now + loss.delay, 0
            else:
                self.make_ready(one)
            return "READY"
        self.end(one, "CANCELLED" if one.asked else "ERROR", None)
        if one.place == "ERROR":
            self.bury(one, "WORKER_CRASHED")
        return one.place

    def end(self, one: Entry, status: str, lease: tuple[int, int] | tuple[None, None] | None) -> None:
        """Put a task to its end; `lease`: what the journal names, None if it has its line already."""
        one.place, one.asked, one.spoilt = status, False, False
        one.unseen = one.parent is not None
        if lease is not None:
            one.journal.append((EVENTS[status], *lease))

    def bury(self, one: Entry, error_class: str) -> None:
        """Leave a letter."""
        self.letters.append(Dead(one.name, one.epoch, one.attempt, error_class))

    def make_due(self) -> None:
        """Make ready what has become due."""
        due = [one for one in self.tasks.values() if one.place == "waiting" and one.due is not None]
        for one in sorted(due, key=lambda one: (one.due or 0, one.number)):
            if (one.due or 0) <= self.now:
                self.make_ready(one)
                one.journal.append(("advanced", None, None))
