"""How a collection stands: its artifacts by state, each counted once, however often it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import KIND, QUEUE, Collection

CANCELLED: Final = "CANCELLED"
CANCELLED_MAX: Final = 1_000
FINAL_MISSING: Final = "final_missing"
HERE: Final = (states.INDEXED, states.DEDUPED, states.SKIPPED_DUPLICATE)
UNDER_WAY: Final = tuple(state for state in states.STATES if state not in states.ENDS)


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """Artifacts by state, with those called off and those whose file is missing.

    `left`: how many have not ended; `bytes`: of the files that are here.
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


def standing(collection: Collection) -> CollectionStatus:
    """Count. What was called off is asked for first: it is final, so that none of it is missing in the counts."""
    cancelled = collection.app.jobs(kind=KIND, status=CANCELLED, limit=CANCELLED_MAX)
    called_off = sum(job.state in UNDER_WAY for job in cancelled)
    counts = collection.counts()
    under_way = sum(counts.get(state, 0) for state in UNDER_WAY)
    if len(cancelled) == CANCELLED_MAX:
        called_off = max(0, under_way - jobs_left(collection))
    summary = collection.tools.index.summary()
    counts = _less(counts, UNDER_WAY, called_off)
    counts = _less(counts, HERE, summary.missing + summary.reruns)
    counts |= {CANCELLED: called_off, FINAL_MISSING: summary.missing}
    return CollectionStatus(
        {state: count for state, count in counts.items() if count}, under_way - called_off, summary.bytes
    )


def jobs_left(collection: Collection) -> int:
    """Count the jobs that wait, are ready or run, over all queues of hosts; with many of those it takes a while."""
    queues = collection.app.queues.all()
    return sum(one.waiting + one.ready + one.running for one in queues if one.name.partition("/")[0] == QUEUE)


def _less(counts: dict[str, int], among: tuple[str, ...], amount: int) -> dict[str, int]:
    """Take an amount away from some of the counts, from the first that has any."""
    found = dict(counts)
    for state in among:
        taken = min(amount, found.get(state, 0))
        if taken:
            found[state] -= taken
            amount -= taken
    return found
