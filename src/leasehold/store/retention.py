"""Retention: find jobs that ended long ago, and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, structs

from leasehold.model.limits import PAGE_MAX
from leasehold.store.audit import add_line
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document

JOBS_PAGE: Final = 100


class AgedJob(Struct, frozen=True):
    """A job that is not linked to another, whether it was submitted long ago, and whether it may be deleted.

    `jobs` and `tasks` count it with all jobs below it.
    """

    id: int
    old: bool
    jobs: int
    tasks: int
    prunable: bool


class Pruned(Struct, frozen=True):
    jobs: int = 0
    tasks: int = 0
    events: int = 0
    effects: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        return Pruned(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Pruner(Noun):
    def find(self, age_us: int, kind: str | None, after: int, most: int = JOBS_PAGE) -> list[AgedJob]:
        """List jobs, oldest first, after the job `after`; `prunable` if one ended longer ago than `age_us`."""
        rows = self._database.read("retention/find_prunable", age=age_us, kind=kind, after=after, most=most)
        return [AgedJob(row[0], bool(row[1]), row[2], row[3], bool(row[4])) for row in rows]

    def prune(self, jobs: Sequence[int], principal: str) -> Pruned:
        """Delete jobs that `find` returned as prunable, and all below them, with a line of the audit trail."""

        def work(session: Session) -> Pruned:
            pruned = Pruned(*session.run("retention/prune", jobs=document(jobs))[0])
            add_line(session, principal, "prune", "job", jobs[0], {**structs.asdict(pruned), "last_job": jobs[-1]})
            return pruned

        return self._database.transact(work)

    def prune_workers(self, age_us: int) -> int:
        """Delete a batch of worker processes that ended longer ago than `age_us`; return how many."""
        return len(self._database.write("retention/prune_workers", age=age_us, most=PAGE_MAX))
