"""Retention: jobs that ended long ago are removed, oldest first, in small transactions; open ones stay."""

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


class Swept(Struct, frozen=True):
    """What was removed; `kept`: jobs as old with something live, in doubt, dead or undelivered."""

    pruned: Pruned
    kept: int
    workers: int


def prune(store: Store, retention: Retention, principal: str, notice: Notice = lambda _: None) -> Swept:
    """Remove old jobs. After an interruption the same call continues; each batch has a line on the audit trail."""
    total, counter = Pruned(), _Counter()
    for batch in _batches(counter.seen(_old(store, retention)), retention.batch):
        total += store.retention.prune([one.id for one in batch], principal)
        notice(total)
    workers = 0
    while gone := store.retention.prune_workers(retention.age_us):
        workers += gone
    return Swept(total, counter.kept, workers)


def plan(store: Store, retention: Retention) -> Swept:
    """Return what `prune` would remove; nothing is changed. Events and effects are not counted."""
    counter = _Counter()
    found = [one for one in counter.seen(_old(store, retention)) if one.prunable]
    return Swept(Pruned(len(found), sum(one.tasks for one in found)), counter.kept, 0)


class _Counter:
    def __init__(self) -> None:
        self.kept = 0

    def seen(self, jobs: Iterator[AgedJob]) -> Iterator[AgedJob]:
        for job in jobs:
            self.kept += not job.prunable
            yield job


def _old(store: Store, retention: Retention) -> Iterator[AgedJob]:
    """Yield the jobs that were submitted long enough ago."""
    after = 0
    while page := store.retention.find(retention.age_us, retention.kind, after):
        yield from (job for job in page if job.old)
        if not page[-1].old:  # later ones are younger
            return
        after = page[-1].id


def _batches(jobs: Iterator[AgedJob], most: int) -> Iterator[list[AgedJob]]:
    """Gather jobs up to so many tasks; one job is never divided."""
    batch: list[AgedJob] = []
    size = 0
    for job in jobs:
        if not job.prunable:
            continue
        if batch and size + job.tasks > most:
            yield batch
            batch, size = [], 0
        batch.append(job)
        size += job.tasks
    if batch:
        yield batch
