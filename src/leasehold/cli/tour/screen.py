"""What one sees of a tour: a live bar on a terminal, plain lines elsewhere, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.tour.course import Progress, Screen
from leasehold.cli.tour.verdict import Verdict
from leasehold.cli.words import count

LINE_SECONDS = 1.0
COLUMNS = (Column(""), Column("DATABASE", right=True), Column("HANDLERS", right=True))


@contextmanager
def opened_screen() -> Iterator[Screen]:
    """Show the tour as well as this output can."""
    if sys.stdout.isatty():
        with _live_screen() as screen:
            yield screen
    else:
        yield Lines()


class Lines:
    """One line a second."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        """Print a line, unless the last one was just now."""
        if progress.seconds >= self._next or progress.left + progress.film_left == 0:
            self._next = progress.seconds + LINE_SECONDS
            echo(f"{progress.seconds:6.1f} s  {_told(progress)}")

    def tell(self, text: str) -> None:
        """Print it."""
        echo(f"          {text}")


@contextmanager
def _live_screen() -> Iterator[Screen]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(highlight=False)) as bar:
        yield _Live(bar)


class _Live:
    def __init__(self, bar: object) -> None:
        from rich.progress import Progress as Bar

        assert isinstance(bar, Bar)
        self._bar = bar
        self._task = bar.add_task("starting", total=None)

    def show(self, progress: Progress) -> None:
        self._bar.update(self._task, completed=progress.done, total=progress.total, description=_told(progress))

    def tell(self, text: str) -> None:
        self._bar.console.print(text, markup=False)


def _told(progress: Progress) -> str:
    film = f"film: {count(progress.film_left, 'task')} to go" if progress.film_left else "film: done"
    return f"{progress.done:,}/{progress.total:,} jobs, {film}, {count(progress.kills, 'kill')}"


def print_verdict(verdict: Verdict) -> None:
    """Print what the tour has shown; the numbers are counted, none is assumed."""
    rows: list[list[object]] = [
        ["submitted", f"{verdict.submitted:,}", ""],
        ["done", f"{verdict.done:,}", f"{verdict.seen:,}"],
        ["lost", len(verdict.lost), ""],
        ["settled twice", len(verdict.settled_twice), ""],
        ["workers killed at work", "", verdict.kills],
        ["attempts repeated because of kills", verdict.repeated, verdict.repeated_begun],
        ["time", f"{verdict.seconds:.1f} s", ""],
    ]
    echo()
    print_table(COLUMNS, rows)
    echo()
    for sentence in _explained(verdict):
        echo(sentence)


def _explained(verdict: Verdict) -> Iterator[str]:
    unbegun = verdict.repeated - verdict.repeated_begun
    if unbegun > 0 and not verdict.contradictions:
        yield f"{count(unbegun, 'attempt')} had been claimed, but not begun, when the worker was killed."
    if verdict.lost:
        yield f"LOST: jobs {_some(verdict.lost)}"
    if verdict.settled_twice:
        yield f"SETTLED TWICE: tasks {_some(verdict.settled_twice)}"
    yield from (f"CONTRADICTION: {sentence}" for sentence in verdict.contradictions[:10])
    if verdict.kills < verdict.kills_wanted:
        yield f"TOO FEW KILLS: {verdict.kills} of {verdict.kills_wanted} hit work; give it more --jobs"
    if verdict.holds:
        yield "Nothing was lost and nothing was settled twice; both journals agree."


def _some(ids: list[int]) -> str:
    return ", ".join(map(str, ids[:10])) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")  # noqa: PLR2004
