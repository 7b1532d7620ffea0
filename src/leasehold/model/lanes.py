"""Where a claim searches: a lane is a range of priorities in one queue, after the last claimed position.

On PostgreSQL, rows that were claimed stay in the index until they are vacuumed, which an old snapshot prevents. A
claim that starts at the beginning reads them all again; one that starts beyond them does not. Between the lanes
that are known there are gaps, so a priority never seen before is still found at once. Rows that commit late lie
behind a hint: `forget` makes the next claim search everywhere.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from leasehold.model.lease import Lease
from leasehold.model.limits import LOSSES_MAX, PRIORITY_MAX, PRIORITY_MIN

POSITION_MIN: Final = -(2**62)  # before every position; those of suspects are negative


class Lane(Struct, frozen=True, omit_defaults=True):
    """A part of a queue: priorities from `low` to `high`, positions after `after`, at most so many losses."""

    queue: str
    low: int
    high: int
    after: int
    losses: int = LOSSES_MAX


class Hints:
    """The position up to which each queue and priority was claimed."""

    def __init__(self) -> None:
        self._after: dict[str, dict[int, int]] = {}

    def forget(self) -> None:
        """Have the next claim read every position again."""
        self._after.clear()

    def claimed(self, leases: Iterable[Lease]) -> None:
        """Remember the positions that were claimed."""
        for lease in leases:
            known = self._after.setdefault(lease.queue, {})
            known[lease.priority] = max(known.get(lease.priority, 0), lease.position)

    def lanes(self, queues: Sequence[str]) -> list[Lane]:
        """Return the lanes of `queues`, highest priority first within each, queues in the order given."""
        return [lane for queue in queues for lane in _lanes_of(queue, self._after.get(queue, {}))]


def suspect_lanes(queues: Sequence[str], losses: int) -> list[Lane]:
    """Return a lane for each of `queues` that begins before the negative positions of suspects."""
    return [Lane(queue, PRIORITY_MIN, PRIORITY_MAX, POSITION_MIN, losses) for queue in queues]


def _lanes_of(queue: str, known: dict[int, int]) -> list[Lane]:
    lanes: list[Lane] = []
    above = PRIORITY_MAX
    for priority in sorted(known, reverse=True):
        if priority < above:
            lanes.append(Lane(queue, priority + 1, above, 0))
        lanes.append(Lane(queue, priority, priority, known[priority]))
        above = priority - 1
    if above >= PRIORITY_MIN:
        lanes.append(Lane(queue, PRIORITY_MIN, above, 0))
    return lanes
