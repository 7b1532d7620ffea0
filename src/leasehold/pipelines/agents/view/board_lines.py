"""What a run prints where there is no terminal: one plain line for each child that started or ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from leasehold.pipelines.agents.view.board_rows import BoardRow, BoardSession, status_of
from leasehold.pipelines.agents.view.values import ChildStatus
from leasehold.pipelines.agents.view.words import spent_words
from leasehold.pipelines.shell.text import one_line

NAME_WIDTH = 60
REASON_WIDTH = 200


def make_lines() -> Callable[[BoardSession], Iterable[str]]:
    """Return what yields the lines that a snapshot adds to those before."""
    known: dict[str, ChildStatus] = {}

    def lines_of(session: BoardSession) -> Iterator[str]:
        for row in session.rows:
            status = status_of(row)
            if known.get(row.child_id, ChildStatus.WAITING) is not status:
                yield line_of(row)
            known[row.child_id] = status

    return lines_of


def line_of(row: BoardRow) -> str:
    """Return a child as one line: failed  planner  235 tokens, 1 call, 2 seconds  URM_CHILD_FAILED: exit code 2."""
    spent = spent_words({"tokens": row.tokens, "solver_calls": row.solver_calls, "duration_secs": row.seconds})
    end = f"{row.code}: {row.reason}" if row.code else ""
    parts = [one_line(row.name, NAME_WIDTH), spent, one_line(end, REASON_WIDTH)]
    return f"{status_of(row).value:<12} " + "  ".join(part for part in parts if part)
