"""The journal, read in the order of its line numbers.

Lines are numbered when they are written and visible when they are committed, which on PostgreSQL may be in another
order. All lines numbered before a moment are complete once every transaction of that moment has ended: a statement
that writes an event has written another row first, so its transaction was already running.
"""

from collections.abc import Collection

from msgspec import Struct

from leasehold.model.journal.event import Event
from leasehold.model.limits import PAGE_MAX
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document


class JournalLine(Event, frozen=True):
    """One line of the journal with the names of its task."""

    job_id: int
    kind: str
    stage: str | None
    segment: int | None


class Horizon(Struct, frozen=True):
    """Lines up to `newest` are complete when no transaction before `next` is running; `oldest` is the first running."""

    newest: int
    oldest: int
    next: int


class JournalLines(Noun):
    def horizon(self) -> Horizon:
        """Read the highest line number, and then which transactions are running."""
        newest = self._database.read("journal/newest")[0][0]
        return Horizon(newest, *self._database.read("journal/horizon")[0])

    def follow(self, job_id: int | None, after: int, upto: int, most: int = PAGE_MAX) -> list[JournalLine]:
        """Read the journal of one job, or of all, after the line `after` up to `upto`."""
        if job_id is not None:
            rows = self._database.read("journal/follow_job", job=job_id, after=after, upto=upto, most=most)
        else:
            rows = self._database.read_transaction(lambda session: _follow(session, after, upto, most))
        return [JournalLine(*row) for row in rows]

    def pruned(self, jobs: Collection[int]) -> set[int]:
        if self._database.read("records/pruned")[0][0] == 0:
            return set()
        return set(jobs) - {row[0] for row in self._database.read("journal/known", jobs=document(sorted(jobs)))}


def _follow(session: Session, after: int, upto: int, most: int) -> list[Row]:
    session.run("journal/plan")
    return session.run("journal/follow", after=after, upto=upto, most=most)
