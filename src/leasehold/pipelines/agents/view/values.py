"""A session as people see it: its children, its budgets, the order of dispatches. Plain values, read by `read`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

LANES: Final = ("tokens", "solver_calls", "duration_secs")


class ChildStatus(StrEnum):
    """How far a child is, or how it ended."""

    WAITING = "waiting"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    OVER_BUDGET = "over budget"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    LOST = "lost"


TROUBLE: Final = (ChildStatus.FAILED, ChildStatus.LOST, ChildStatus.OVER_BUDGET)
ENDED: Final = frozenset(ChildStatus) - {ChildStatus.WAITING, ChildStatus.RUNNING}


@dataclass(frozen=True, slots=True)
class LaneUse:
    """What one child spent in one lane, what it was refused, and what was left in the lane at its last debit."""

    spent: int = 0
    refused: int = 0
    left: int | None = None


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of evidence: what was kept of it, and how it begins or ends."""

    name: str
    link: str  # from the page to the file; empty if it cannot be opened from there
    size: int
    sha256: str = ""
    is_truncated: bool = False
    text: str = ""
    omitted: int = 0  # bytes that `text` leaves out


@dataclass(frozen=True, slots=True)
class ChildTimes:
    """When a child came to each phase; None for a phase that it did not reach."""

    queued: datetime | None = None
    leased: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChildView:
    """One child."""

    child_id: str
    name: str
    status: ChildStatus
    phase: str
    queue_seq: int
    dispatch_seq: int | None = None
    times: ChildTimes = ChildTimes()
    code: str = ""
    reason: str = ""
    output: Any = None
    has_output: bool = False
    cancel_request_id: str | None = None
    again_of: str | None = None
    command: tuple[str, ...] = ()
    use: Mapping[str, LaneUse] = field(default_factory=dict)
    evidence: tuple[ShownFile, ...] = ()
    diff: ShownFile | None = None
    last_line: str = ""

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    def spent(self, lane: str) -> int:
        return self.use.get(lane, LaneUse()).spent


@dataclass(frozen=True, slots=True)
class Debit:
    """A debit of a lane that was accepted or refused; `total`: what the session had spent after it."""

    at: datetime
    child_id: str
    amount: int
    total: int
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class LaneView:
    """A budget of the session; without a limit, what it spent is counted only."""

    name: str
    limit: int | None
    spent: int
    debits: tuple[Debit, ...] = ()

    @property
    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.spent

    def refusals(self) -> Iterator[Debit]:
        return (debit for debit in self.debits if debit.is_refused)


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session; `read_at`: the moment of which this is true. Children are in the order of the queue."""

    session_id: str
    contract: str
    max_active_children: int
    coordinator: str | None
    opened: datetime | None
    read_at: datetime
    children: tuple[ChildView, ...] = ()
    lanes: tuple[LaneView, ...] = ()

    @property
    def counts(self) -> Counter[ChildStatus]:
        return Counter(child.status for child in self.children)

    @property
    def is_over(self) -> bool:
        """Whether all children have ended."""
        return all(child.is_over for child in self.children)

    @property
    def ended(self) -> datetime | None:
        ends = [child.times.ended for child in self.children if child.times.ended is not None]
        return max(ends) if ends and self.is_over else None

    def dispatched(self) -> list[ChildView]:
        """Return the children in the order of their dispatches; what was never dispatched comes last."""
        return sorted(
            self.children, key=lambda child: (child.dispatch_seq is None, child.dispatch_seq or 0, child.queue_seq)
        )
