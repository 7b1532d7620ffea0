"""The steps of a tour: submit, start workers, kill and replace one after another while they work, collect evidence."""

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from leasehold import Job, Status
from leasehold.cli.tour.evidence import AttemptStart, Evidence, StartLog
from leasehold.cli.tour.jobs import Tour
from leasehold.cli.tour.screen import Screen, TourProgress
from leasehold.model.journal.event import Name
from leasehold.processes import WorkerProcesses
from leasehold.store.reports import JournalCounts

CONCURRENCY: Final = 2
SCENES: Final = 20
KILL_SECONDS: Final = 1.0
POLL_SECONDS: Final = 0.1
STUCK_SECONDS: Final = 60.0
PAUSE_MIN: Final = 0.003
FILM_SHARE: Final = 0.25
PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class TourPlan:
    """What the tour shall do. Jobs last long enough that there is work before, between and after the kills."""

    jobs: int
    kills: int
    workers: int

    @property
    def pause(self) -> float:
        """Seconds that a small job takes."""
        return max(PAUSE_MIN, (1 - FILM_SHARE) * self._work / self.jobs)

    @property
    def film_pause(self) -> float:
        """Seconds that a task of the film takes."""
        return max(PAUSE_MIN, FILM_SHARE * self._work / SCENES)

    @property
    def _work(self) -> float:
        return (self.kills + 1) * KILL_SECONDS * self.workers * CONCURRENCY


class TourRun:
    """One run of the tour."""

    def __init__(self, tour: Tour, workers: WorkerProcesses, log: StartLog, plan: TourPlan, screen: Screen) -> None:
        self._tour = tour
        self._workers = workers
        self._log = log
        self._plan = plan
        self._screen = screen
        self._kills = 0
        self._jobs: list[Job] = []

    def run(self) -> Evidence:
        film = self._submit()
        self._workers.start()
        started = killed_at = changed_at = time.monotonic()
        seen = (-1, -1)
        pause = threading.Event()
        while (now := time.monotonic()) - changed_at < STUCK_SECONDS and not self._workers.exit_codes:
            progress = self._progress(now - started)
            self._screen.show(progress)
            if progress.left == 0 and film.status.settled:
                break
            if (state := (progress.left + progress.film_left, self._log.read())) != seen:
                seen, changed_at = state, now
            if is_kill_due(progress, self._plan, now - killed_at) and self._kill_one():
                killed_at = time.monotonic()
            pause.wait(POLL_SECONDS)
        seconds = time.monotonic() - started
        self._stop_workers()
        return self._evidence(seconds)

    def _submit(self) -> Job:
        plan, tour = self._plan, self._tour
        film = tour.app.submit(tour.film, {"scenes": SCENES, "pause": plan.film_pause})
        payloads = [{"number": number, "pause": plan.pause} for number in range(plan.jobs)]
        self._jobs = [film, *tour.app.submit_many(tour.step, payloads)]
        return film

    def _progress(self, seconds: float) -> TourProgress:
        left = {queue.name: queue.waiting + queue.ready + queue.running for queue in self._tour.app.queues.all()}
        steps, film = (left.get(name, 0) for name in self._tour.queues)
        return TourProgress(seconds, self._plan.jobs, steps, film, self._kills)

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
        reports = self._tour.app.store.reports
        if any(row.id == start.task_id and row.fence == start.fence for row in reports.tasks(start.job_id)):
            return True
        reclaimed = (start.task_id, start.fence, Name.RECLAIMED)
        return any((line.task_id, line.fence, line.name) == reclaimed for line in reports.events(start.job_id))

    def _stop_workers(self) -> None:
        if codes := self._workers.exit_codes:
            self._screen.print(f"workers ended without being stopped, with exit codes {codes}")
        # A worker that gets SIGTERM while it is still starting ends by the signal, as any program does.
        elif set(codes := self._workers.stop_all()) - {0, -signal.SIGTERM}:
            self._screen.print(f"workers did not stop cleanly: exit codes {codes}")

    def _evidence(self, seconds: float) -> Evidence:
        self._log.read()
        jobs = {job.id for job in self._jobs}
        journal_counts = list(self._histories(min(jobs) - 1, jobs))
        return Evidence(jobs, journal_counts, self._log.starts, self._plan.kills, self._kills, seconds)

    def _histories(self, after: int, jobs: set[int]) -> Iterator[JournalCounts]:
        while page := self._tour.app.store.reports.journal_counts(after, PAGE):
            yield from (history for history in page if history.job_id in jobs)
            after = page[-1].task_id

    def cancel(self) -> None:
        """Cancel what is not done, so that no job of the tour stays on a database that is not its own."""
        reason = "the tour was interrupted"
        for film in self._jobs[:1]:
            film.cancel(reason)
        while left := self._tour.app.jobs(queue=self._tour.queues[0], status=Status.READY, limit=PAGE):
            for job in left:
                job.cancel(reason)


def is_kill_due(progress: TourProgress, plan: TourPlan, since: float) -> bool:
    """Decide when to kill: every second, and early enough to have all planned kills before the work runs out."""
    if progress.left == 0 or plan.kills == 0:
        return False
    behind = progress.done >= plan.jobs * (progress.kills + 1) / (plan.kills + 1)
    return since >= KILL_SECONDS or (progress.kills < plan.kills and behind)
