"""What a person sees while files are fetched: a bar for the whole, the largest files under way, and counts."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from leasehold.pipelines.download import states
from leasehold.pipelines.download.running import Sight

WORDS = {
    states.PLANNED: "planned",
    states.LEASED: "asking",
    states.HEAD_DONE: "asking",
    states.RESUME_OK: "resuming",
    states.STREAMING: "streaming",
    states.FINALIZED: "finishing",
    states.INDEXED: "here",
    states.DEDUPED: "here (same content)",
    states.SKIPPED_DUPLICATE: "here before",
    states.FAILED: "failed",
}


class Screen:
    """Draws on a terminal, and says nothing where there is none."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("files"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=self._console
        )
        self._whole = self._progress.add_task("files", total=None)
        self._live = Live(self._progress, console=self._console, refresh_per_second=4, transient=True)

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
        self._progress.update(self._whole, total=sight.total, completed=sight.ended)
        lines = [
            Text(f"  {size_of(one.done):>10} of {size_of(one.total) if one.total else '?':>10}  {one.key[:12]}")
            for one in sight.files
        ]
        self._live.update(Group(self._progress, *lines, Text(f"  {counted(sight.counts)}")))


def counted(counts: dict[str, int]) -> str:
    """Say counts in words: 12 here, 1 failed."""
    told: dict[str, int] = {}
    for state, count in counts.items():
        told[WORDS[state]] = told.get(WORDS[state], 0) + count
    return ", ".join(f"{count:,} {word}" for word, count in told.items()) or "nothing planned"


def size_of(size: int) -> str:
    """Say a number of bytes: 4.2 MB."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1_000:  # noqa: PLR2004 — a step of the units
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:.1f} TB"
