"""What a tour has shown, computed from two sources that know nothing of each other.

The database says what was settled and how often; the handlers' marks say what really began. Pure: everything comes in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from leasehold.cli.tour.marks import Mark
from leasehold.model.status import Status
from leasehold.store.reports import JournalCounts


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known at the end of a tour: what was submitted, what both journals say, which kills hit work."""

    jobs: Collection[int]
    histories: Sequence[JournalCounts]
    marks: Sequence[Mark]
    kills_wanted: int
    kills: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The tour's result. `lost` and `settled_twice` hold ids; `contradictions` are sentences."""

    submitted: int
    done: int
    seen: int
    lost: list[int]
    settled_twice: list[int]
    repeated: int
    repeated_begun: int
    contradictions: list[str]
    kills_wanted: int
    kills: int
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the tour showed what it promises."""
        return not (self.lost or self.settled_twice or self.contradictions) and self.kills >= self.kills_wanted


def judge(evidence: Evidence) -> Verdict:
    """Compute what happened."""
    own = [history for history in evidence.histories if history.job_id in evidence.jobs]
    done = {history.task_id for history in own if history.task_id == history.job_id and history.status == Status.DONE}
    seen = {mark.job_id for mark in evidence.marks}
    begun = Counter(mark.task_id for mark in evidence.marks)
    return Verdict(
        submitted=len(evidence.jobs),
        done=len(done),
        seen=len(seen & set(evidence.jobs)),
        lost=sorted(job for job in evidence.jobs if job not in done or job not in seen),
        settled_twice=sorted(
            history.task_id for history in own if max(history.endings, history.outcomes) > 1 + history.revivals
        ),
        repeated=sum(history.reclaims for history in own),
        repeated_begun=sum(times - 1 for times in begun.values()),
        contradictions=list(_contradictions(own, evidence.marks)),
        kills_wanted=evidence.kills_wanted,
        kills=evidence.kills,
        seconds=evidence.seconds,
    )


def _contradictions(histories: Sequence[JournalCounts], marks: Sequence[Mark]) -> Iterable[str]:
    """Say where the two sources cannot both be right."""
    known = {history.task_id: history for history in histories}
    fences: dict[int, list[int]] = {}
    for mark in marks:
        fences.setdefault(mark.task_id, []).append(mark.fence)
    for task_id, begun in fences.items():
        history = known.get(task_id)
        if history is None:
            yield f"task {task_id} ran, but the database does not know it"
        elif len(set(begun)) < len(begun):
            yield f"task {task_id} began twice under one lease"
        elif max(begun) > history.claims:
            yield f"task {task_id} ran under lease {max(begun)}, but was claimed {history.claims} times"
    for history in histories:
        ran = history.claims > 0 and history.status == Status.DONE
        if ran and history.fence not in fences.get(history.task_id, ()):
            yield f"task {history.task_id} was settled by lease {history.fence}, under which no handler began"
