"""The steps of a tour: submit, start workers, kill and replace one after another while they work, collect evidence.

It is shown as a live bar on a terminal, and as a line a second elsewhere.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leasehold import Job, Leasehold, Status
from leasehold.cli.limits import TOUR_KILL_SECONDS, TOUR_LINE_SECONDS, TOUR_POLL_SECONDS, TOUR_STUCK_SECONDS
from leasehold.cli.table import echo
from leasehold.cli.text import count
from leasehold.cli.tour.evidence import AttemptStart, StartLog, TourResult, judge
from leasehold.cli.tour.jobs import queues_of
from leasehold.model.journal.event import Name
from leasehold.processes import WorkerProcesses
from leasehold.store.reports import JournalCounts

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

CONCURRENCY: Final = 2
SCENES: Final = 20
PAUSE_MIN: Final = 0.003
FILM_SHARE: Final = 0.25
PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class TourPlan:
    jobs: int
    kills: int
    workers: int


@dataclass(frozen=True, slots=True)
class TourProgress:
    seconds: float
    total: int
    left: int
    film_left: int
    kills: int

    @property
    def done(self) -> int:
        return self.total - self.left

    def __str__(self) -> str:
        film = f"film: {count(self.film_left, 'task')} to go" if self.film_left else "film: done"
        return f"{self.done:,}/{self.total:,} jobs, {film}, {count(self.kills, 'kill')}"


class Screen:
    """Shows the tour: in a bar, or line by line."""

    def __init__(self, bar: Bar | None = None) -> None:
        self._next_line = 0.0
        self._bar = bar

    def show(self, progress: TourProgress) -> None:
        """Draw the progress, or print a line unless the last one was just now."""
        if self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0], completed=progress.done, total=progress.total, description=str(progress)
            )
        elif progress.seconds >= self._next_line or progress.left + progress.film_left == 0:
            self._next_line = progress.seconds + TOUR_LINE_SECONDS
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
        bar.add_task("starting", total=None)
        yield Screen(bar)


class TourRun:
    def __init__(
        self, app: Leasehold, run: str, workers: WorkerProcesses, log: StartLog, plan: TourPlan, screen: Screen
    ) -> None:
        self._app = app
        self._steps, self._films = queues_of(run)
        self._workers = workers
        self._log = log
        self._plan = plan
        self._screen = screen
        self._kills = 0
        self._seconds = 0.0
        self._jobs: list[Job] = []

    def run(self) -> None:
        """Run until all is done, nothing moves any more, or a stop is requested."""
        film = self._submit()
        self._workers.start()
        started = killed_at = changed_at = time.monotonic()
        seen = (-1, -1)
        while (now := time.monotonic()) - changed_at < TOUR_STUCK_SECONDS and not self._workers.exit_codes:
            progress = self._progress(now - started)
            self._screen.show(progress)
            if (progress.left == 0 and film.status.settled) or self._workers.stop.number is not None:
                break
            if (state := (progress.left + progress.film_left, self._log.read())) != seen:
                seen, changed_at = state, now
            if is_kill_due(progress, self._plan, now - killed_at) and self._kill_one():
                killed_at = time.monotonic()
            self._workers.stop.wait(TOUR_POLL_SECONDS)
        self._seconds = time.monotonic() - started

    def result(self) -> TourResult:
        """Stop the workers, and compute the result from what both sources recorded."""
        if codes := self._workers.exit_codes:
            self._screen.print(f"workers ended without being stopped, with exit codes {codes}")
        # A worker that gets SIGTERM while it is still starting ends by the signal, as any program does.
        elif set(codes := self._workers.stop_all()) - {0, -signal.SIGTERM}:
            self._screen.print(f"workers did not stop cleanly: exit codes {codes}")
        self._log.read()
        jobs = {job.id for job in self._jobs}
        counts = self._journal_counts(min(jobs) - 1)
        return judge(
            jobs, counts, self._log.starts, kills_wanted=self._plan.kills, kills=self._kills, seconds=self._seconds
        )

    def _submit(self) -> Job:
        """Submit jobs that last long enough that there is work before, between and after the kills."""
        plan = self._plan
        work_seconds = (plan.kills + 1) * TOUR_KILL_SECONDS * plan.workers * CONCURRENCY
        film_pause = max(PAUSE_MIN, FILM_SHARE * work_seconds / SCENES)
        pause = max(PAUSE_MIN, (1 - FILM_SHARE) * work_seconds / plan.jobs)
        film = self._app.submit("tour.film", {"scenes": SCENES, "pause": film_pause})
        steps = [{"number": number, "pause": pause} for number in range(plan.jobs)]
        self._jobs = [film, *self._app.submit_many("tour.step", steps)]
        return film

    def _progress(self, seconds: float) -> TourProgress:
        left = {queue.name: queue.waiting + queue.ready + queue.running for queue in self._app.queues.all()}
        steps, films = left.get(self._steps, 0), left.get(self._films, 0)
        return TourProgress(seconds, self._plan.jobs, steps, films, self._kills)

    def _kill_one(self) -> bool:
        """Kill the oldest worker that has begun an attempt, and start another. A kill counts only if it hit one."""
        victim = next((worker for worker in self._workers.running if self._log.latest(worker.pid, 1)), None)
        if victim is None:
            return False
        self._workers.kill(victim)
        self._log.read()
        hit = sum(self._was_running(start) for start in self._log.latest(victim.pid, 4 * CONCURRENCY))
        self._kills += hit > 0
        successor = self._workers.start_one()
        self._screen.print(f"killed worker {victim.pid} with {hit} of its attempts under way; started {successor.pid}")
        return hit > 0

    def _was_running(self, start: AttemptStart) -> bool:
        """Whether a killed attempt was running: its lease is still live, or was reclaimed."""
        reports = self._app.store.reports
        if any(row.id == start.task_id and row.fence == start.fence for row in reports.tasks(start.job_id)):
            return True
        reclaimed = (start.task_id, start.fence, Name.RECLAIMED)
        return any((line.task_id, line.fence, line.name) == reclaimed for line in reports.events(start.job_id))

    def _journal_counts(self, after: int) -> Iterator[JournalCounts]:
        while page := self._app.store.reports.journal_counts(after, PAGE):
            yield from page
            after = page[-1].task_id

    def cancel(self) -> None:
        """Cancel what is not done, so that no job of the tour stays on a database that is not its own."""
        reason = "the tour was interrupted"
        for film in self._jobs[:1]:
            film.cancel(reason)
        while left := self._app.jobs(queue=self._steps, status=Status.READY, limit=PAGE):
            for job in left:
                job.cancel(reason)


def is_kill_due(progress: TourProgress, plan: TourPlan, since: float) -> bool:
    """Decide when to kill: every second, and early enough to have all planned kills before the work runs out."""
    if progress.left == 0 or plan.kills == 0:
        return False
    behind = progress.done >= plan.jobs * (progress.kills + 1) / (plan.kills + 1)
    return since >= TOUR_KILL_SECONDS or (progress.kills < plan.kills and behind)
