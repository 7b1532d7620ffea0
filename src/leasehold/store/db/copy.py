"""Many new jobs at once on PostgreSQL: three COPYs instead of statements that search for existing jobs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from leasehold.model.journal import hash_chain
from leasehold.model.task import Submission, Submitted
from leasehold.store.db.database import Session
from leasehold.store.db.limits import COPY_CHUNK


def copy_in(session: Session, submissions: Sequence[Submission]) -> list[Submitted]:
    """Add jobs with keys that nobody else has, all ready at once. While the server stores some, others are prepared."""
    reserved = session.run("tasks/reserve_ids", count=len(submissions))
    ids, now = [row[0] for row in reserved], reserved[0][1]
    ready: list[str] = []
    events: list[str] = []
    session.copy_in("tasks/copy_task", _lines(submissions, ids, now, ready, events))
    session.copy_in("tasks/copy_ready", ready)
    session.copy_in("tasks/copy_event", events)
    return [
        Submitted(number, one.kind, one.key, one.payload, created=True)
        for number, one in zip(ids, submissions, strict=True)
    ]


def _lines(
    submissions: Sequence[Submission], ids: list[int], now: int, ready: list[str], events: list[str]
) -> Iterator[str]:
    """Yield the rows of `task` in chunks; those of the other two tables are added to the lists."""
    for first, last in pairwise([*range(0, len(ids), COPY_CHUNK), len(ids)]):
        rows: tuple[list[str], ...] = ([], [], [])
        like: Submission | None = None
        for number, one in zip(ids[first:last], submissions[first:last], strict=True):
            if like is None or one.terms is not like.terms or (one.kind, one.priority) != (like.kind, like.priority):
                like = one
                terms = f"{one.terms.attempts_max}\t{one.terms.lease_ms}\t{one.terms.on_lost}"
                place = f"{one.terms.queue}\t{one.priority}"
                mark_of = _marks(one, now)
            mark = mark_of(one.payload, one.key).hex()
            payload = one.payload.replace("\\", "\\\\")  # in JSON nothing else means anything to COPY
            rows[0].append(f"{number}\t{number}\t{one.kind}\t{one.key}\t{payload}\t{place}\t{terms}\t{now}\n")
            rows[1].append(f"{number}\t{place}\t{one.kind}\t0\t0\t1\t\\\\x{mark}\n")
            rows[2].append(f"{number}\t{now}\tsubmitted\t\\\\x{mark}\n")
        ready.append("".join(rows[1]))
        events.append("".join(rows[2]))
        yield "".join(rows[0])


def _marks(one: Submission, now: int) -> Callable[[str, str], bytes]:
    terms = one.terms
    place = (terms.queue, one.priority, terms.attempts_max, terms.lease_ms, terms.on_lost)
    return hash_chain.opening(now, one.kind, None, None, 1, None, None, *place, one.unmet)
