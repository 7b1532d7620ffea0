"""`app.journal`: the journal read back, a job's record exported, verified and replayed, and old jobs pruned."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from leasehold import clock
from leasehold.app.limits import PRUNE_AGE_SECONDS_MAX
from leasehold.app.ready_store import Operations
from leasehold.canonical import INTEGER_MAX
from leasehold.insight.journal import Follower
from leasehold.insight.record import export
from leasehold.insight.verify.verify import Verification, verify_file, verify_job
from leasehold.model.journal.event import Event
from leasehold.model.journal.record import Closing
from leasehold.model.limits import PAGE_MAX
from leasehold.model.names import check_id, check_name, check_range, check_whole
from leasehold.runtime.replay.replayer import Replay, replay
from leasehold.store import Store
from leasehold.store.audit import principal_of
from leasehold.store.journal import JournalLine
from leasehold.store.retention import AgedJob, Pruned

BATCH_TASKS = 1_000
BATCH_MAX = 100_000

Notice = Callable[[Pruned], object]


class PruneReport(Struct, frozen=True):
    """What was removed; `kept`: jobs as old with something live, in doubt, dead or undelivered."""

    pruned: Pruned
    kept: int
    workers: int


class Journal(Operations):
    """The journal of jobs, and what is made from it."""

    def of(self, job_id: int, *, after: int = 0, limit: int = PAGE_MAX) -> list[Event]:
        """Return the lines of a job and its tasks, in order, after the line `after`."""
        check_id(job_id, "job", 0)
        check_whole(after, 0, INTEGER_MAX, "after")
        check_whole(limit, 1, PAGE_MAX, "limit")
        return self._store.reports.events(job_id, after, limit)

    def follow(self, job_id: int | None = None, *, after: int = 0) -> Iterator[JournalLine]:
        """Yield every line that is settled after the line `after`, of one job or of all; call it again for more."""
        follower = Follower(self._store, None if job_id is None else check_id(job_id, "job", 0), after)
        while lines := follower.read():
            yield from lines

    def export(self, job_id: int, file: IO[bytes]) -> Closing:
        """Write everything on record of a job to an empty binary file that can be rewound."""
        return export(self._store, check_id(job_id, "job", 0), file)

    def verify(self, what: int | Path) -> Verification:
        """Check a job's journal against the tables, or an exported record against itself."""
        return verify_job(self._store, check_id(what, "job", 0)) if isinstance(what, int) else verify_file(Path(what))

    def replay(self, path: Path) -> Replay:
        """Run an exported record again with this app's handlers; opens no database and does nothing outside."""
        return replay(Path(path), self._ready_store.registry.handlers())

    def prune(
        self,
        *,
        older_than: float,
        kind: str | None = None,
        dry_run: bool = False,
        batch: int = BATCH_TASKS,
        principal: str | None = None,
        notice: Notice = lambda _: None,
    ) -> PruneReport:
        """Remove jobs that ended more than `older_than` seconds ago and of which nothing is open any more."""
        check_range(older_than, 0, PRUNE_AGE_SECONDS_MAX, "older_than (seconds)")
        check_whole(batch, 1, BATCH_MAX, "batch")
        kind = None if kind is None else check_name(kind, "kind")
        age_us = clock.microseconds(older_than)
        if dry_run:
            return plan_pruning(self._store, age_us, kind)
        return prune(self._store, age_us, principal_of(principal), notice, kind=kind, batch=batch)


def prune(
    store: Store, age_us: int, principal: str, notice: Notice, *, kind: str | None = None, batch: int = BATCH_TASKS
) -> PruneReport:
    """Remove jobs that ended longer ago than this, with all jobs below them, about `batch` tasks in a transaction.

    After an interruption the same call continues; each batch has a line on the audit trail.
    """
    total, seen = Pruned(), Counter[bool]()
    for jobs in _batches(_prunable(store, age_us, kind, seen), batch):
        total += store.retention.prune([one.id for one in jobs], principal)
        notice(total)
    workers = 0
    while gone := store.retention.prune_workers(age_us):
        workers += gone
    return PruneReport(total, seen[False], workers)


def plan_pruning(store: Store, age_us: int, kind: str | None = None) -> PruneReport:
    """Return what `prune` would remove; nothing is changed. Events and effects are not counted."""
    seen = Counter[bool]()
    found = list(_prunable(store, age_us, kind, seen))
    pruned = Pruned(sum(one.jobs for one in found), sum(one.tasks for one in found))
    return PruneReport(pruned, seen[False], 0)


def _prunable(store: Store, age_us: int, kind: str | None, seen: Counter[bool]) -> Iterator[AgedJob]:
    """Yield the jobs that can be removed; `seen` counts them, and those as old that cannot."""
    after = 0
    while page := store.retention.find(age_us, kind, after):
        old = [job for job in page if job.old]
        seen.update(job.prunable for job in old)
        yield from (job for job in old if job.prunable)
        if not page[-1].old:  # later ones are younger
            return
        after = page[-1].id


def _batches(jobs: Iterator[AgedJob], most: int) -> Iterator[list[AgedJob]]:
    """Gather jobs up to so many tasks; one job is never divided."""
    batch: list[AgedJob] = []
    size = 0
    for job in jobs:
        if batch and size + job.tasks > most:
            yield batch
            batch, size = [], 0
        batch.append(job)
        size += job.tasks
    if batch:
        yield batch
