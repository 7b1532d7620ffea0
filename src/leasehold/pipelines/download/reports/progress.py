"""The live display of a run: a bar for all files, the largest running ones, and counts."""

import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from leasehold.pipelines.download.reports.text import state_counts
from leasehold.pipelines.download.run_loop import SHOWN_MAX, CollectionSnapshot
from leasehold.pipelines.shell.text import printable, size_text

WINDOW_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """Bytes a second, and the seconds until everything is downloaded; None where that cannot be estimated."""

    rate: float
    seconds: float | None


class Pace:
    """Estimates the speed of a run from the snapshots of its last seconds."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, CollectionSnapshot]] = deque()

    def estimate(self, now: float, snapshot: CollectionSnapshot) -> Forecast:
        self._recent.append((now, snapshot))
        while len(self._recent) > 2 and now - self._recent[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004 — two make a rate
            self._recent.popleft()
        since, first = self._recent[0]
        span = now - since
        rate = max(0.0, (snapshot.bytes - first.bytes) / span) if span > 0 else 0.0
        return Forecast(rate, _seconds_left(snapshot, rate))


def _seconds_left(snapshot: CollectionSnapshot, rate: float) -> float | None:
    """Add up the sizes that are known; every other file is assumed to have the mean size of those that ended."""
    if rate <= 0 or not snapshot.left:
        return None
    known = [file.total - file.done for file in snapshot.files if file.total is not None]
    unknown = max(0, snapshot.left - len(known))
    if unknown and not snapshot.ended:
        return None
    ended_bytes = snapshot.bytes - sum(file.done for file in snapshot.files)
    mean = ended_bytes / snapshot.ended if snapshot.ended else 0.0
    return (sum(known) + unknown * mean) / rate


class DownloadRenderer:
    """Renders a snapshot."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._bar = Progress(
            TextColumn("files"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"),
        )  # fmt: skip
        self._all = self._bar.add_task("files", total=None, pace="")

    def __call__(self, snapshot: CollectionSnapshot) -> Group:
        pace = pace_text(self._pace.estimate(time.monotonic(), snapshot))
        self._bar.update(self._all, total=snapshot.total, completed=snapshot.ended, pace=pace)
        lines = [
            Text(
                f"  {size_text(file.done):>10} of {size_text(file.total) if file.total else '?':>10}"
                f"  {printable(file.name)}"
            )
            for file in snapshot.files[:SHOWN_MAX]
        ]
        return Group(self._bar, *lines, Text(f"  {state_counts(snapshot.counts)}"))


def pace_text(forecast: Forecast) -> str:
    """Return a forecast in words: 12.0 MB/s, 0:04:10 left."""
    rate = f"{size_text(int(forecast.rate))}/s"
    if forecast.seconds is None:
        return rate
    minutes, seconds = divmod(round(forecast.seconds), 60)
    return f"{rate}, {minutes // 60}:{minutes % 60:02}:{seconds:02} left"
