"""Which children a board shows, and how far each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from leasehold.pipelines.agents.tokens import DispatchPhase
from leasehold.pipelines.agents.view.codes import status_of_end
from leasehold.pipelines.agents.view.values import TROUBLE, ChildStatus

WAITING_SHOWN: Final = 3
ENDED_SHOWN: Final = 5  # of those that ended well, when there is room


class BoardRow(Protocol):
    """A child of a snapshot."""

    @property
    def child_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def phase(self) -> DispatchPhase: ...
    @property
    def tokens(self) -> int: ...
    @property
    def solver_calls(self) -> int: ...
    @property
    def seconds(self) -> int: ...
    @property
    def line(self) -> str: ...
    @property
    def code(self) -> str | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def is_cancelled(self) -> bool: ...


class BoardLane(Protocol):
    """A budget of a snapshot."""

    @property
    def limit(self) -> int | None: ...
    @property
    def spent(self) -> int: ...


class BoardSession(Protocol):
    """A snapshot of a session."""

    @property
    def parent_session_id(self) -> str: ...
    @property
    def rows(self) -> Sequence[BoardRow]: ...
    @property
    def waiting(self) -> Sequence[str]: ...
    @property
    def lanes(self) -> Mapping[str, BoardLane]: ...


def status_of(row: BoardRow) -> ChildStatus:
    match row.phase:
        case DispatchPhase.QUEUED:
            return ChildStatus.WAITING
        case DispatchPhase.LEASED | DispatchPhase.STARTED:
            return ChildStatus.RUNNING
        case DispatchPhase.TERMINAL:
            return status_of_end(row.code)


def chosen_rows(rows: Sequence[BoardRow], room: int) -> list[BoardRow]:
    """Return the children to show, in so many rows: those that run, the last that ended badly, the next to run."""
    by_status: dict[ChildStatus, list[BoardRow]] = {}
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
