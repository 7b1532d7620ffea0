"""The status of a collection: its artifacts by state, each counted once, however often it was requested."""

from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import KIND, QUEUE, Collection

CANCELLED: Final = "CANCELLED"
CANCELLED_MAX: Final = 1_000
FINAL_MISSING: Final = "final_missing"
DOWNLOADED: Final = (states.INDEXED, states.DEDUPED, states.SKIPPED_DUPLICATE)
UNFINISHED: Final = tuple(state for state in states.STATES if state not in states.ENDS)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """Artifacts by state, with those cancelled and those whose file is missing.

    `left`: how many have not ended; `bytes`: of the downloaded files.
    """

    counts: dict[str, int]
    left: int
    bytes: int

    @property
    def planned(self) -> int:
        """How many artifacts there are."""
        return sum(self.counts.values())

    @property
    def is_well(self) -> bool:
        """Whether nothing failed or is missing."""
        return not self.counts.get(states.FAILED) and not self.counts.get(FINAL_MISSING)


def read_status(collection: Collection) -> CollectionStatus:
    """Count. Cancelled jobs are read first: they are final, so that the counts, read later, hold all of them."""
    cancelled_jobs = collection.app.jobs(kind=KIND, status=CANCELLED, limit=CANCELLED_MAX)
    cancelled = sum(job.state in UNFINISHED for job in cancelled_jobs)
    counts = collection.counts()
    unfinished = sum(counts.get(state, 0) for state in UNFINISHED)
    if len(cancelled_jobs) == CANCELLED_MAX:
        cancelled = max(0, unfinished - jobs_left(collection))
    summary = collection.tools.index.summary()
    counts = _subtract(counts, UNFINISHED, cancelled)
    counts = _subtract(counts, DOWNLOADED, summary.missing + summary.reruns)
    counts |= {CANCELLED: cancelled, FINAL_MISSING: summary.missing}
    return CollectionStatus(
        {state: count for state, count in counts.items() if count}, unfinished - cancelled, summary.bytes
    )


def jobs_left(collection: Collection) -> int:
    """Count the jobs that wait, are ready or run, over the queues of all hosts; slow with many hosts."""
    queues = [queue for queue in collection.app.queues.all() if queue.name.partition("/")[0] == QUEUE]
    return sum(queue.waiting + queue.ready + queue.running for queue in queues)


def _subtract(counts: dict[str, int], states_of: tuple[str, ...], amount: int) -> dict[str, int]:
    found = dict(counts)
    for state in states_of:
        part = min(amount, found.get(state, 0))
        if part:
            found[state] -= part
            amount -= part
    return found
