"""What a storm measures, and the line of JSON that it appends to the file that LEASEHOLD_PROOF names."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.lab.oracle import Look
from tests.lab.proof import record

SECOND = 1_000_000
CLAIMS = (
    "SELECT event.task_id, event.at, event.name, event.worker FROM event JOIN task ON task.id = event.task_id"
    " WHERE event.name IN ('claimed', 'reclaimed')"
    " AND task.queue NOT IN (SELECT name FROM queue WHERE capacity IS NOT NULL)"
    " ORDER BY event.task_id, event.id"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that was done, at a moment of the host's wall clock; `pid` 0: to all."""

    at: int
    pid: int


@dataclass
class Proof:
    """One line of the record."""

    storm: str
    database: str
    counts: dict[str, int]
    faults: dict[str, int]
    seconds: float
    lease_seconds: float
    repickups: int
    repickup_p99_seconds: float | None
    repickup_max_seconds: float | None
    verdict: list[str]
    measured: dict[str, float] = field(default_factory=dict)

    def write(self) -> None:
        """Append the line, if somebody asked for it."""
        record("storm", **asdict(self))


def percentile(found: Iterable[float], share: float) -> float | None:
    """Return the nearest-rank percentile."""
    ranked = sorted(found)
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)] if ranked else None


def repickups(look: Look, faults: list[Fault]) -> list[float]:
    """Return the seconds from a fault to the next claim, for every task whose lease it took from its worker.

    Tasks of a limited queue are left out: they wait for a place, however soon they were taken back.
    """
    pids: dict[int, int] = {row[0]: row[1] for row in look("SELECT id, pid FROM worker")}
    events: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in look(CLAIMS):
        events[row[0]].append(row[1:])
    found: list[float] = []
    for lines in events.values():
        found += _of_task(lines, pids, faults)
    return found


def _of_task(lines: list[tuple[Any, ...]], pids: dict[int, int], faults: list[Fault]) -> list[float]:
    found: list[float] = []
    claimed_at = struck_at = None
    for at, name, worker in lines:
        if name == "claimed":
            if struck_at is not None:
                found.append((at - struck_at) / SECOND)
            claimed_at, struck_at = at, None
        elif name == "reclaimed" and claimed_at is not None:
            own = [fault.at for fault in faults if fault.pid in (0, pids[worker]) and claimed_at <= fault.at <= at]
            struck_at = own[-1] if own else None
    return found
