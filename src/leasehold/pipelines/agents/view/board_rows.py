"""Which children a board shows, and how far each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot
from leasehold.pipelines.agents.tokens import DispatchPhase
from leasehold.pipelines.agents.view.codes import status_of_end
from leasehold.pipelines.agents.view.values import TROUBLE, ChildStatus

WAITING_SHOWN: Final = 3
ENDED_SHOWN: Final = 5  # of those that ended well, when there is room


def status_of(row: ChildRow) -> ChildStatus:
    match row.phase:
        case DispatchPhase.QUEUED:
            return ChildStatus.WAITING
        case DispatchPhase.LEASED | DispatchPhase.STARTED:
            return ChildStatus.RUNNING
        case DispatchPhase.TERMINAL:
            return status_of_end(row.code)


def counts_of(session: SessionSnapshot) -> Counter[ChildStatus]:
    """Count the children by how far they are; those that are not spawned yet wait."""
    return Counter(map(status_of, session.rows)) + Counter({ChildStatus.WAITING: len(session.waiting)})


def end_words(row: ChildRow) -> str:
    """Return why a child ended otherwise than well: exit code (URM_CHILD_FAILED)."""
    return f"{(row.reason or '').replace('_', ' ')} ({row.code})".strip() if row.code else ""


def chosen_rows(rows: Sequence[ChildRow], room: int) -> list[ChildRow]:
    """Return the children to show, in so many rows: those that run, the last that ended badly, the next to run."""
    by_status: dict[ChildStatus, list[ChildRow]] = {}
    for row in rows:
        by_status.setdefault(status_of(row), []).append(row)
    running = by_status.get(ChildStatus.RUNNING, [])
    bad = [row for row in rows if status_of(row) in TROUBLE]
    waiting = by_status.get(ChildStatus.WAITING, [])[:WAITING_SHOWN]
    passed = by_status.get(ChildStatus.PASSED, [])
    left = max(0, room - len(running) - len(waiting))
    shown_bad = bad[len(bad) - min(len(bad), left) :]
    shown_passed = passed[len(passed) - min(len(passed), ENDED_SHOWN, left - len(shown_bad)) :]
    return [*running, *shown_bad, *waiting, *shown_passed][:room]
