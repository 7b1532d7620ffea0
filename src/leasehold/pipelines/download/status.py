"""The status of a collection: its artifacts by state, each counted once, however often it was requested."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import KIND, QUEUE, Collection
from leasehold.pipelines.shell.text import counts_text

CANCELLED: Final = "CANCELLED"
CANCELLED_MAX: Final = 1_000
FINAL_MISSING: Final = "final_missing"
LABELS: Final = {
    states.PLANNED: "planned",
    states.LEASED: "connecting",
    states.HEAD_DONE: "connecting",
    states.RESUME_OK: "resuming",
    states.STREAMING: "downloading",
    states.FINALIZED: "finishing",
    states.INDEXED: "downloaded",
    states.DEDUPED: "duplicate",
    states.SKIPPED_DUPLICATE: "already downloaded",
    states.FAILED: "failed",
    CANCELLED: "cancelled",
    FINAL_MISSING: "missing from disk",
}
PLURALS: Final = {"duplicate": "duplicates"}


@dataclass(frozen=True, slots=True)
class FileProgress:
    """A file that is being downloaded; the largest ones have a name."""

    job_id: int
    done: int
    total: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """Artifacts by state, with those cancelled and those whose file is missing, and how many have not ended.

    `bytes`: of the downloaded files, and with `files`, those that are being downloaded, of these so far.
    """

    counts: dict[str, int]
    left: int
    bytes: int = 0
    files: Sequence[FileProgress] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many have ended, well or not."""
        return max(0, self.total - self.left)

    @property
    def is_over(self) -> bool:
        return self.left == 0

    @property
    def is_well(self) -> bool:
        """Whether nothing failed or is missing."""
        return not self.counts.get(states.FAILED) and not self.counts.get(FINAL_MISSING)


def read_status(collection: Collection) -> CollectionStatus:
    """Count. Cancelled jobs are read first: they are final, so that the counts, read later, hold all of them."""
    cancelled_jobs = collection.app.jobs(kind=KIND, status=CANCELLED, limit=CANCELLED_MAX)
    cancelled = sum(job.state in states.UNFINISHED for job in cancelled_jobs)
    counts = collection.counts()
    unfinished = sum(counts.get(state, 0) for state in states.UNFINISHED)
    if len(cancelled_jobs) == CANCELLED_MAX:
        cancelled = max(0, unfinished - _jobs_left(collection))
    summary = collection.tools.index.summary()
    counts = _subtract(counts, states.UNFINISHED, cancelled)
    counts = _subtract(counts, states.DOWNLOADED, summary.missing + summary.reruns)
    counts |= {CANCELLED: cancelled, FINAL_MISSING: summary.missing}
    shown = {state: count for state, count in counts.items() if count}
    return CollectionStatus(shown, unfinished - cancelled, summary.bytes)


def _jobs_left(collection: Collection) -> int:
    """Count the jobs that wait, are ready or run, over the queues of all hosts; slow with many hosts."""
    queues = [queue for queue in collection.app.queues.all() if queue.name.partition("/")[0] == QUEUE]
    return sum(queue.waiting + queue.ready + queue.running for queue in queues)


def _subtract(counts: dict[str, int], states_of: tuple[str, ...], amount: int) -> dict[str, int]:
    found = dict(counts)
    for state in states_of:
        if part := min(amount, found.get(state, 0)):
            found[state] -= part
            amount -= part
    return found


def state_counts(counts: dict[str, int]) -> str:
    """Return counts by state as people read them: 3 downloaded, 1 duplicate, 1 failed."""
    labelled: Counter[str] = Counter()
    for state, count in counts.items():
        labelled[LABELS[state]] += count
    return counts_text({PLURALS.get(label, label) if n > 1 else label: n for label, n in labelled.items()})
