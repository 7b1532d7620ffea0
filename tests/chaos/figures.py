"""What a storm measures, and the line of JSON that it appends to the file that LEASEHOLD_PROOF names."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.support.oracle.proof_report import record

Look = Callable[[str], list[tuple[Any, ...]]]

SECOND = 1_000_000
UNDER_WAY_US = SECOND // 4
CLAIMS = (
    "SELECT event.task_id, event.at, event.name, event.worker FROM event JOIN task ON task.id = event.task_id"
    " WHERE event.name IN ('claimed', 'reclaimed')"
    " AND task.queue NOT IN (SELECT name FROM queue WHERE capacity IS NOT NULL)"
    " ORDER BY event.task_id, event.id"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was done, at a moment of the database's clock, to one process or to all (`pid` 0).

    `is_deadly`: no lease of theirs outlives it. `took_us`: until the process was certainly dead.
    """

    at: int
    pid: int
    is_deadly: bool = True
    took_us: int = 0

    def hits(self, pid: int, claimed_at: int, reclaimed_at: int) -> bool:
        """Whether it may have taken this lease; a process may have claimed while somebody was about to strike it."""
        slack = max(UNDER_WAY_US, self.took_us) if self.pid else 0
        return self.pid in (0, pid) and claimed_at - slack <= self.at <= reclaimed_at


@dataclass(frozen=True, slots=True)
class Outage:
    """From one moment to another nobody could pick up anything: no database, no room, no power."""

    since: int
    until: int

    def share_of(self, start: int, end: int) -> int:
        """Return how much of a span lies within."""
        return max(0, min(end, self.until) - max(start, self.since))


@dataclass(frozen=True, slots=True)
class Repickups:
    """How long tasks that a fault took from their worker waited for another, in seconds."""

    count: int
    p50: float | None
    p99: float | None
    longest: float | None

    @classmethod
    def of(cls, found: list[float]) -> Repickups:
        return cls(len(found), percentile(found, 0.5), percentile(found, 0.99), max(found, default=None))


@dataclass
class Proof:
    """One line of the record. `spared`: why nothing need have been picked up again."""

    storm: str
    database: str
    counts: dict[str, int]
    faults: dict[str, int]
    seconds: float
    lease_seconds: float
    repickups: Repickups
    verdict: list[str]
    measured: dict[str, float] = field(default_factory=dict)
    spared: str = ""

    def write(self) -> None:
        """Append the line, if somebody asked for it."""
        record("storm", **asdict(self))


def percentile(found: Iterable[float], share: float) -> float | None:
    """Return the nearest-rank percentile."""
    ranked = sorted(found)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else None


def repickups(look: Look, faults: list[Fault], outages: list[Outage]) -> list[float]:
    """Return the seconds from a fault to the next claim, for every task whose lease it took from its worker.

    The seconds in which nobody could have picked it up are not counted. Tasks of a limited queue are left out: they
    wait for a place, however soon they were taken back.
    """
    pids: dict[int, int] = {row[0]: row[1] for row in look("SELECT id, pid FROM worker")}
    events: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in look(CLAIMS):
        events[row[0]].append(row[1:])
    spans = [span for lines in events.values() for span in _spans(lines, pids, faults)]
    return [(end - start - sum(one.share_of(start, end) for one in outages)) / SECOND for start, end in spans]


def _spans(lines: list[tuple[Any, ...]], pids: dict[int, int], faults: list[Fault]) -> Iterator[tuple[int, int]]:
    """Yield from when to when a task was nobody's: since the first fault that its lease could not outlive.

    Without such a one, since the last that it may not have outlived.
    """
    claimed_at = struck_at = None
    for at, name, worker in lines:
        if name == "claimed":
            if struck_at is not None:
                yield struck_at, at
            claimed_at, struck_at = at, None
        elif name == "reclaimed" and claimed_at is not None:
            own = [fault for fault in faults if fault.hits(pids[worker], claimed_at, at)]
            deadly = [fault.at for fault in own if fault.is_deadly]
            struck_at = max(claimed_at, deadly[0] if deadly else own[-1].at) if own else None
