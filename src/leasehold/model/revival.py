"""Which tasks a revival moves: a pure plan over one job's tasks, from how each of them ended.

The task that failed starts a new epoch; the tasks that contain it wait for it again; so do stages that could not run
because of it, unless another prerequisite failed too. DONE tasks are not changed, unless the whole job starts again.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from msgspec import Struct

from leasehold import errors
from leasehold.model.status import Status

PREREQUISITE_FAILED: Final = "PREREQUISITE_FAILED"


class LetterState(StrEnum):
    """The state of a dead letter."""

    OPEN = "open"
    REVIVED = "revived"
    RESOLVED = "resolved"


class Case(Struct, frozen=True):
    """What decides whether a letter may be revived. `unanswered`: its task's effects without result or failure."""

    letter_id: int
    state: str
    error_class: str
    job_status: str | None
    evidenced: bool
    unanswered: int
    task_id: int
    epoch: int


def refusal(case: Case) -> errors.LeaseholdError | None:
    """Return why a letter may not be revived now, in the order of the operator's steps."""
    if case.state != LetterState.OPEN:
        return errors.LetterRevived(f"Letter {case.letter_id} is {case.state}.")
    if case.job_status == Status.CANCELLED:
        return errors.JobCancelled(f"Letter {case.letter_id} stays as it is.")
    if not case.evidenced:
        return errors.EvidenceMissing(f"Write it down with `leasehold dead evidence {case.letter_id} --text …`.")
    if case.error_class == errors.EffectInDoubt.code and case.unanswered:
        return errors.EffectUnanswered(f"See `leasehold dead plan {case.letter_id}`; {case.unanswered} to answer.")
    return None


class JobTask(Struct, frozen=True):
    """One task of the job. `status`: None until it ends; `pending`: the orchestrator has not processed its end yet."""

    id: int
    parent_id: int | None
    stage: str | None
    segment: int | None
    fans_out: bool
    epoch: int | None
    status: str | None
    error_class: str | None
    pending: bool


class Need(Struct, frozen=True):
    task_id: int
    on_task_id: int


class RevivalPlace(StrEnum):
    """Where a task goes. `grown`: it waits already, and now for `unmet` more."""

    READY = "ready"
    WAITING = "waiting"
    GROWN = "grown"


class RevivalMove(Struct, frozen=True):
    task_id: int
    place: str
    unmet: int = 0


@dataclass(frozen=True, slots=True)
class JobTasks:
    """A job's tasks as far as a revival is concerned: itself, its stages, and the task that failed."""

    members: Sequence[JobTask]
    needs: Sequence[Need]

    @property
    def root(self) -> JobTask:
        return next(one for one in self.members if one.parent_id is None)

    @property
    def stages(self) -> list[JobTask]:
        return [one for one in self.members if one.parent_id == self.root.id]

    def member(self, task_id: int) -> JobTask:
        return next(one for one in self.members if one.id == task_id)

    def needs_of(self, task_id: int) -> list[JobTask]:
        return [self.member(need.on_task_id) for need in self.needs if need.task_id == task_id]

    def above(self, member: JobTask) -> list[JobTask]:
        """The tasks that contain a task, nearest first."""
        found: list[JobTask] = []
        while member.parent_id is not None:
            member = self.member(member.parent_id)
            found.append(member)
        return found


def moves_of(job: JobTasks, case: Case, *, from_start: bool) -> list[RevivalMove]:
    """Plan the revival of a letter; `LetterRevived` if its task is no longer as it was buried."""
    subject = job.member(case.task_id)
    if (subject.status, subject.epoch) != (Status.ERROR, case.epoch):
        raise errors.LetterRevived(f"The task of letter {case.letter_id} has moved on since.")
    return restart(job) if from_start else revive(job, case.task_id)


def revive(job: JobTasks, task_id: int) -> list[RevivalMove]:
    """Plan the revival of one failed task, at the stage that failed; `JobCancelled` if its job was cancelled."""
    _check_wanted(job)
    subject = job.member(task_id)
    above = job.above(subject)
    freed = {subject.id} | {one.id for one in above}
    after = _dependents(job, freed)
    live = freed | {one.id for one in after}
    # A stage that could not fan out is never run itself: it waits for nothing, and fans out at once.
    moves = [RevivalMove(subject.id, RevivalPlace.WAITING if subject.fans_out else RevivalPlace.READY)]
    moves += [RevivalMove(one.id, RevivalPlace.WAITING, _unmet(job, one, live)) for one in after]
    begun = [subject, *after, *(one for one in above if one.status is not None)]
    return moves + [move for one in above if (move := _wait_again(one, begun)) is not None]


def restart(job: JobTasks) -> list[RevivalMove]:
    """Plan a restart of the whole job; `JobUnfinished` while a part of it runs or waits, `JobCancelled` as above."""
    _check_wanted(job)
    if any(one.status is None for one in job.members):
        raise errors.JobUnfinished("Wait for its end, or revive at the stage that failed.")
    stages = job.stages
    moves = [RevivalMove(job.root.id, RevivalPlace.WAITING if stages else RevivalPlace.READY, len(stages))]
    for stage in stages:
        unmet = len(job.needs_of(stage.id))
        moves.append(RevivalMove(stage.id, RevivalPlace.WAITING if unmet else RevivalPlace.READY, unmet))
    return moves


def _check_wanted(job: JobTasks) -> None:
    if job.root.status == Status.CANCELLED:
        raise errors.JobCancelled


def _dependents(job: JobTasks, freed: Collection[int]) -> list[JobTask]:
    """Return the stages that can run again, and those that can because of them."""
    found: list[JobTask] = []
    live = set(freed)
    while more := [one for one in job.stages if one.id not in live and _may_run_again(job, one, live)]:
        found += more
        live |= {one.id for one in more}
    return found


def _may_run_again(job: JobTasks, stage: JobTask, live: Collection[int]) -> bool:
    if stage.status != Status.CANCELLED or stage.error_class != PREREQUISITE_FAILED:
        return False
    needs = job.needs_of(stage.id)
    hopeful = all(one.id in live or one.status in (None, Status.DONE) for one in needs)
    return hopeful and any(one.id in live for one in needs)


def _unmet(job: JobTasks, stage: JobTask, live: Collection[int]) -> int:
    """Count the prerequisites that the orchestrator has not processed yet."""
    return sum(one.id in live or one.status is None or one.pending for one in job.needs_of(stage.id))


def _wait_again(container: JobTask, begun: Sequence[JobTask]) -> RevivalMove | None:
    parts = [one for one in begun if one.parent_id == container.id]
    if container.status is not None:
        return RevivalMove(container.id, RevivalPlace.WAITING, len(parts))
    more = sum(not one.pending for one in parts)  # an end that was not looked at is still counted
    return RevivalMove(container.id, RevivalPlace.GROWN, more) if more else None
