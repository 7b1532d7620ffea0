"""The live display of a run: a bar for all files, the largest running ones, and counts."""

import time
from collections import deque

from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from leasehold.pipelines.download.limits import WINDOW_SECONDS
from leasehold.pipelines.download.run_loop import SHOWN_MAX, CollectionStatus, state_counts
from leasehold.pipelines.shell.text import printable, size_text


class Pace:
    """Estimates the speed of a run from its status over the last seconds."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, CollectionStatus]] = deque()

    def estimate(self, now: float, status: CollectionStatus) -> tuple[float, float | None]:
        """Return bytes a second, and the seconds until all is downloaded; None where that cannot be estimated."""
        self._recent.append((now, status))
        while len(self._recent) > 2 and now - self._recent[1][0] >= WINDOW_SECONDS:  # noqa: PLR2004 — two make a rate
            self._recent.popleft()
        since, first = self._recent[0]
        span = now - since
        rate = max(0.0, (status.bytes - first.bytes) / span) if span > 0 else 0.0
        return rate, _seconds_left(status, rate)


def _seconds_left(status: CollectionStatus, rate: float) -> float | None:
    """Add up the sizes that are known; every other file is assumed to have the mean size of those that ended."""
    if rate <= 0 or not status.left:
        return None
    known = [file.total - file.done for file in status.files if file.total is not None]
    unknown = max(0, status.left - len(known))
    if unknown and not status.ended:
        return None
    ended_bytes = status.bytes - sum(file.done for file in status.files)
    mean = ended_bytes / status.ended if status.ended else 0.0
    return (sum(known) + unknown * mean) / rate


class DownloadRenderer:
    def __init__(self) -> None:
        self._pace = Pace()
        self._bar = Progress(TextColumn("files"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"))
        self._all = self._bar.add_task("files", total=None, pace="")

    def __call__(self, status: CollectionStatus) -> Group:
        pace = pace_text(*self._pace.estimate(time.monotonic(), status))
        self._bar.update(self._all, total=status.total, completed=status.ended, pace=pace)
        lines = []
        for file in status.files[:SHOWN_MAX]:
            total = size_text(file.total) if file.total else "?"
            lines.append(Text(f"  {size_text(file.done):>10} of {total:>10}  {printable(file.name)}"))
        return Group(self._bar, *lines, Text(f"  {state_counts(status.counts)}"))


def pace_text(rate: float, seconds_left: float | None) -> str:
    """Return an estimate as text: 12.0 MB/s, 0:04:10 left."""
    pace = f"{size_text(int(rate))}/s"
    if seconds_left is None:
        return pace
    minutes, seconds = divmod(round(seconds_left), 60)
    return f"{pace}, {minutes // 60}:{minutes % 60:02}:{seconds:02} left"
