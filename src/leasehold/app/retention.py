"""Retention: jobs that ended long ago are removed, oldest first, in small transactions; open ones stay."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from leasehold.store import Store
from leasehold.store.retention import AgedJob, Pruned

BATCH_TASKS: Final = 1_000

Notice = Callable[[Pruned], object]


class Retention(Struct, frozen=True):
    """Jobs to remove: those that ended longer ago than `age_us`, of one kind or any. `batch`: tasks per transaction."""

    age_us: int
    kind: str | None = None
    batch: int = BATCH_TASKS


class PruneReport(Struct, frozen=True):
    """What was removed; `kept`: jobs as old with something live, in doubt, dead or undelivered."""

    pruned: Pruned
    kept: int
    workers: int


def prune(store: Store, retention: Retention, principal: str, notice: Notice = lambda _: None) -> PruneReport:
    """Remove old jobs. After an interruption the same call continues; each batch has a line on the audit trail."""
    total, seen = Pruned(), Counter[bool]()
    for batch in _batches(_prunable(store, retention, seen), retention.batch):
        total += store.retention.prune([one.id for one in batch], principal)
        notice(total)
    workers = 0
    while gone := store.retention.prune_workers(retention.age_us):
        workers += gone
    return PruneReport(total, seen[False], workers)


def plan(store: Store, retention: Retention) -> PruneReport:
    """Return what `prune` would remove; nothing is changed. Events and effects are not counted."""
    seen = Counter[bool]()
    tasks = sum(one.tasks for one in _prunable(store, retention, seen))
    return PruneReport(Pruned(seen[True], tasks), seen[False], 0)


def _prunable(store: Store, retention: Retention, seen: Counter[bool]) -> Iterator[AgedJob]:
    """Yield the jobs that can be removed; `seen` counts them, and those as old that cannot."""
    after = 0
    while page := store.retention.find(retention.age_us, retention.kind, after):
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
