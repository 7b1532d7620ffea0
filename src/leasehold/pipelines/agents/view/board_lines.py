"""What a run prints where there is no terminal: a plain line for each start, each end, and each line of progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot
from leasehold.pipelines.agents.view.board_rows import end_words, status_of
from leasehold.pipelines.agents.view.values import ChildStatus
from leasehold.pipelines.agents.view.words import spent_words
from leasehold.pipelines.shell.text import one_line

NAME_WIDTH: Final = 60
LINE_WIDTH: Final = 200


def make_lines() -> Callable[[SessionSnapshot], Iterable[str]]:
    """Return what yields the lines that a snapshot adds to those before."""
    known: dict[str, tuple[ChildStatus, str]] = {}

    def lines_of(session: SessionSnapshot) -> Iterator[str]:
        for row in session.rows:
            status, line = known.get(row.child_id, (ChildStatus.WAITING, ""))
            if status_of(row) is not status:
                yield line_of(row)
            if row.line not in ("", line):
                yield f"{status_of(row).value:<12} {one_line(row.name, NAME_WIDTH)}: {one_line(row.line, LINE_WIDTH)}"
            known[row.child_id] = (status_of(row), row.line)

    return lines_of


def line_of(row: ChildRow) -> str:
    """Return a child as one line: failed  planner  235 tokens, 1 call, 2 seconds  exit code (URM_CHILD_FAILED)."""
    spent = spent_words({"tokens": row.tokens, "solver_calls": row.solver_calls, "duration_secs": row.seconds})
    parts = [one_line(row.name, NAME_WIDTH), spent, one_line(end_words(row), LINE_WIDTH)]
    return f"{status_of(row).value:<12} " + "  ".join(part for part in parts if part)
