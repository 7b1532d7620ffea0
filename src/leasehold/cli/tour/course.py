"""How a tour goes: submit, start workers, kill and replace one after another while they work, gather evidence."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from leasehold import Job, Status
from leasehold.cli.tour.crew import CONCURRENCY, Crew
from leasehold.cli.tour.kinds import Tour
from leasehold.cli.tour.marks import Mark, MarkReader
from leasehold.cli.tour.verdict import Evidence
from leasehold.model.journal.event import Name
from leasehold.store.reports import JournalCounts

SCENES: Final = 20
KILL_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.1
STUCK_SECONDS: Final = 60.0
PAUSE_MIN: Final = 0.003
FILM_SHARE: Final = 0.25
PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Wish:
    """What the tour shall do."""

    jobs: int
    kills: int
    workers: int

    @property
    def pause(self) -> float:
        """How long a small job takes."""
        return max(PAUSE_MIN, (1 - FILM_SHARE) * self._work / self.jobs)

    @property
    def film_pause(self) -> float:
        """How long a task of the film takes: long enough to be there when workers are killed."""
        return max(PAUSE_MIN, FILM_SHARE * self._work / SCENES)

    @property
    def _work(self) -> float:
        """Seconds of work to hand out, so that there is some before, between and after the kills."""
        return (self.kills + 1) * KILL_SECONDS * self.workers * CONCURRENCY


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the tour has come."""

    seconds: float
    total: int
    left: int
    film_left: int
    kills: int

    @property
    def done(self) -> int:
        """How many small jobs are settled."""
        return self.total - self.left


class Screen(Protocol):
    """Where the tour shows what happens."""

    def show(self, progress: Progress) -> None:
        """Show how far it has come."""

    def tell(self, text: str) -> None:
        """Say what happened."""


class Course:
    """One tour under way."""

    def __init__(self, tour: Tour, crew: Crew, marks: MarkReader, wish: Wish, screen: Screen) -> None:
        self._tour = tour
        self._crew = crew
        self._marks = marks
        self._wish = wish
        self._screen = screen
        self._kills = 0
        self._jobs: list[Job] = []

    def run(self) -> Evidence:
        """Go through all of it and return what is known then."""
        film = self._submit()
        started = time.monotonic()
        self._crew.start(self._wish.workers)
        killed_at = changed_at = started
        seen = (-1, -1)
        quiet = threading.Event()
        while (now := time.monotonic()) - changed_at < STUCK_SECONDS and not self._crew.deserters():
            progress = self._look(now - started)
            self._screen.show(progress)
            if progress.left == 0 and film.status.settled:
                break
            if (state := (progress.left + progress.film_left, self._marks.read())) != seen:
                seen, changed_at = state, now
            if is_kill_due(progress, self._wish, now - killed_at) and self._kill_one():
                killed_at = time.monotonic()
            quiet.wait(LOOK_SECONDS)
        seconds = time.monotonic() - started
        self._leave()
        return self._evidence(seconds)

    def _submit(self) -> Job:
        wish, tour = self._wish, self._tour
        film = tour.app.submit(tour.film, {"scenes": SCENES, "pause": wish.film_pause})
        payloads = [{"number": number, "pause": wish.pause} for number in range(wish.jobs)]
        self._jobs = [film, *tour.app.submit_many(tour.step, payloads)]
        return film

    def _look(self, seconds: float) -> Progress:
        left = {queue.name: queue.waiting + queue.ready + queue.running for queue in self._tour.app.queues.all()}
        steps, film = (left.get(name, 0) for name in self._tour.queues)
        return Progress(seconds, self._wish.jobs, steps, film, self._kills)

    def _kill_one(self) -> bool:
        """Kill the oldest worker that is at work, and start another. A kill counts only if it hit an attempt."""
        victim = next((pid for pid in self._crew.pids() if self._marks.of(pid, 1)), None)
        if victim is None:
            return False
        self._crew.kill(victim)
        self._marks.read()
        hit = sum(self._was_hit(mark) for mark in self._marks.of(victim, 4 * CONCURRENCY))
        self._kills += hit > 0
        (heir,) = self._crew.start()
        self._screen.tell(f"killed worker {victim} with {hit} of its attempts under way; started {heir}")
        return hit > 0

    def _was_hit(self, mark: Mark) -> bool:
        """Whether a dead process's attempt was under way: its lease still stands, or has been taken back."""
        reports = self._tour.app.store.reports
        if any(row.id == mark.task_id and row.fence == mark.fence for row in reports.tasks(mark.job_id)):
            return True
        lines = reports.events(mark.job_id)
        return any(
            (line.task_id, line.fence, line.name) == (mark.task_id, mark.fence, Name.RECLAIMED) for line in lines
        )

    def _leave(self) -> None:
        if fallen := self._crew.deserters():
            self._screen.tell(f"workers ended by themselves, with exit codes {fallen}")
            return
        # One that is told to leave while it is still starting leaves as any program does: by the signal.
        codes = self._crew.dismiss()
        if set(codes) - {0, -signal.SIGTERM}:
            self._screen.tell(f"workers did not end well when told to: exit codes {codes}")

    def _evidence(self, seconds: float) -> Evidence:
        self._marks.read()
        jobs = {job.id for job in self._jobs}
        histories = list(self._histories(min(jobs) - 1, jobs))
        return Evidence(jobs, histories, self._marks.marks, self._wish.kills, self._kills, seconds)

    def _histories(self, after: int, jobs: set[int]) -> Iterator[JournalCounts]:
        while page := self._tour.app.store.reports.journal_counts(after, PAGE):
            yield from (history for history in page if history.job_id in jobs)
            after = page[-1].task_id

    def call_off(self) -> None:
        """Leave nothing ready behind on a database that is not the tour's own."""
        reason = "the tour was interrupted"
        for film in self._jobs[:1]:
            film.cancel(reason)
        while left := self._tour.app.jobs(queue=self._tour.queues[0], status=Status.READY, limit=PAGE):
            for job in left:
                job.cancel(reason)


def is_kill_due(progress: Progress, wish: Wish, since: float) -> bool:
    """Choose when to kill: every second, and in time to have as many kills as wished before the work runs out."""
    if progress.left == 0 or wish.kills == 0:
        return False
    behind = progress.done >= wish.jobs * (progress.kills + 1) / (wish.kills + 1)
    return since >= KILL_SECONDS or (progress.kills < wish.kills and behind)
