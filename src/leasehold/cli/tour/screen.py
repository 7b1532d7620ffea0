"""What the tour prints: a live bar on a terminal, a line a second elsewhere, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import count
from leasehold.cli.tour.evidence import TourResult

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 1.0
LISTED_MAX = 10
COLUMNS = (Column(""), Column("DATABASE", right=True), Column("HANDLERS", right=True))


@dataclass(frozen=True, slots=True)
class TourProgress:
    """How far the tour is."""

    seconds: float
    total: int
    left: int
    film_left: int
    kills: int

    @property
    def done(self) -> int:
        """How many small jobs are settled."""
        return self.total - self.left

    def __str__(self) -> str:
        film = f"film: {count(self.film_left, 'task')} to go" if self.film_left else "film: done"
        return f"{self.done:,}/{self.total:,} jobs, {film}, {count(self.kills, 'kill')}"


class Screen:
    """Shows the tour: in a bar, or line by line."""

    def __init__(self, bar: Bar | None = None) -> None:
        self._next_line = 0.0
        self._bar = bar
        self._task = bar.add_task("starting", total=None) if bar else None

    def show(self, progress: TourProgress) -> None:
        """Draw the progress, or print a line unless the last one was just now."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=progress.done, total=progress.total, description=str(progress))
        elif progress.seconds >= self._next_line or progress.left + progress.film_left == 0:
            self._next_line = progress.seconds + LINE_SECONDS
            echo(f"{progress.seconds:6.1f} s  {progress}")

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False)
        else:
            echo(f"          {text}")


@contextmanager
def open_screen() -> Iterator[Screen]:
    """Draw a bar where the output is a terminal; Rich is imported only then."""
    if not sys.stdout.isatty():
        yield Screen()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(highlight=False)) as bar:
        yield Screen(bar)


def print_result(result: TourResult) -> None:
    """Print the table and what it means; every number is counted."""
    rows: list[list[object]] = [
        ["submitted", f"{result.submitted:,}", ""],
        ["done", f"{result.done:,}", f"{result.seen:,}"],
        ["lost", len(result.lost), ""],
        ["settled twice", len(result.settled_twice), ""],
        ["workers killed at work", "", result.kills],
        ["attempts repeated because of kills", result.repeated, result.repeated_begun],
        ["time", f"{result.seconds:.1f} s", ""],
    ]
    echo()
    print_table(COLUMNS, rows)
    echo()
    for sentence in _sentences(result):
        echo(sentence)


def _sentences(result: TourResult) -> Iterator[str]:
    not_begun = result.repeated - result.repeated_begun
    if not_begun > 0 and not result.contradictions:
        yield f"{count(not_begun, 'attempt')} had been claimed, but not begun, when the worker was killed."
    if result.lost:
        yield f"LOST: jobs {_first(result.lost)}"
    if result.settled_twice:
        yield f"SETTLED TWICE: tasks {_first(result.settled_twice)}"
    yield from (f"CONTRADICTION: {sentence}" for sentence in result.contradictions[:LISTED_MAX])
    if result.kills < result.kills_wanted:
        yield f"TOO FEW KILLS: {result.kills} of {result.kills_wanted} hit work; use more --jobs"
    if result.holds:
        yield "Nothing was lost and nothing was settled twice; both sources agree."


def _first(ids: list[int]) -> str:
    more = f" and {len(ids) - LISTED_MAX} more" if len(ids) > LISTED_MAX else ""
    return ", ".join(map(str, ids[:LISTED_MAX])) + more
