"""What a person sees while paragraphs are translated: a bar for the whole, and a count for each state."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.run_loop import Sight

SHOWN = tuple(state for state in states.STATES if state != states.INGESTED)


class Screen:
    """Draws on a terminal, and says nothing where there is none."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description:>16}"), BarColumn(), MofNCompleteColumn())
        self._whole = Progress(*columns, TimeRemainingColumn(), console=self._console)
        self._states = Progress(*columns, console=self._console)
        self._all = self._whole.add_task("paragraphs", total=None)
        self._bars = {state: self._states.add_task(state, total=None, visible=False) for state in SHOWN}
        group = Group(self._whole, self._states)
        self._live = Live(group, console=self._console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, sight: Sight) -> None:
        """Draw a moment."""
        self._whole.update(self._all, total=sight.total, completed=sight.total - sight.left)
        for state, bar in self._bars.items():
            count = sight.counts.get(state, 0)
            self._states.update(bar, total=sight.total, completed=count, visible=count > 0)
