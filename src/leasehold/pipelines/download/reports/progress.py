"""What a person sees while files are fetched: a bar for the whole, the largest files under way, and counts."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from leasehold.pipelines.download.reports.text import counted, shown, size_of
from leasehold.pipelines.download.run_loop import SHOWN_MAX, Snapshot

WINDOW_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """How fast bytes come, and in how many seconds all is likely to be here; None where nobody can tell."""

    rate: float
    seconds: float | None


class Pace:
    """Watches how far a run has come and tells how fast it goes, over the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Snapshot]] = deque()

    def see(self, now: float, sight: Snapshot) -> Forecast:
        """Take in a moment and look ahead."""
        self._seen.append((now, sight))
        while len(self._seen) > 2 and now - self._seen[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004 — two make a rate
            self._seen.popleft()
        since, first = self._seen[0]
        span = now - since
        rate = max(0.0, (sight.bytes - first.bytes) / span) if span > 0 else 0.0
        return Forecast(rate, _seconds(sight, rate))


def _seconds(sight: Snapshot, rate: float) -> float | None:
    """Weigh what is known to be left, and guess the rest at the size of those that are here."""
    if rate <= 0 or not sight.left:
        return None
    known = [one.total - one.done for one in sight.files if one.total is not None]
    unknown = max(0, sight.left - len(known))
    if unknown and not sight.ended:
        return None
    mean = (sight.bytes - sum(one.done for one in sight.files)) / sight.ended if sight.ended else 0.0
    return (sum(known) + unknown * mean) / rate


class Screen:
    """Draws on a terminal, and says nothing where there is none."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._pace = Pace()
        self._progress = Progress(
            TextColumn("files"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"),
            console=self._console,
        )  # fmt: skip
        self._whole = self._progress.add_task("files", total=None, pace="")
        self._live = Live(self._progress, console=self._console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, sight: Snapshot) -> None:
        """Draw a moment."""
        pace = told_pace(self._pace.see(time.monotonic(), sight))
        self._progress.update(self._whole, total=sight.total, completed=sight.ended, pace=pace)
        lines = [
            Text(f"  {size_of(one.done):>10} of {size_of(one.total) if one.total else '?':>10}  {shown(one.name)}")
            for one in sight.files[:SHOWN_MAX]
        ]
        self._live.update(Group(self._progress, *lines, Text(f"  {counted(sight.counts)}")))


def told_pace(forecast: Forecast) -> str:
    """Say a forecast: 12.0 MB/s, 0:04:10 left."""
    rate = f"{size_of(int(forecast.rate))}/s"
    if forecast.seconds is None:
        return rate
    minutes, seconds = divmod(round(forecast.seconds), 60)
    return f"{rate}, {minutes // 60}:{minutes % 60:02}:{seconds:02} left"
