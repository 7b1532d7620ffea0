"""Plan a revival without doing it: which stages would run, and what would happen to each effect."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from leasehold.errors import LeaseholdError
from leasehold.insight.read.effects import rows_of
from leasehold.model import revival
from leasehold.model.revival import JobTask, JobTasks, LetterState, RevivalMove
from leasehold.model.status import Status
from leasehold.shapes import View
from leasehold.store import Store
from leasehold.store.deadletters import LetterRow


class Fate(StrEnum):
    """What happens to a stage: it runs, its output is kept, it is already running, or it stays as it ended."""

    RUNS = "runs"
    KEPT = "kept"
    UNDER_WAY = "under way"
    STAYS = "stays"


class EffectFate(StrEnum):
    """What happens to an effect when its handler asks for it again."""

    REUSED = "reused"
    REPEATED = "repeated"
    ASKED = "looked up or asked"


NOTES: Final = {
    EffectFate.REUSED: "its result is on record and is returned; nothing is done again",
    EffectFate.REPEATED: "it failed and is done again",
    EffectFate.ASKED: "intended and never heard of again: the handler's lookup finds out, or it is done again where"
    " that is idempotent; else it is in doubt until somebody answers",
}


class StagePlan(Struct, frozen=True):
    """One stage (None: the job itself), or some segments of it."""

    stage: str | None
    fate: Fate
    note: str = ""


class EffectPlan(Struct, frozen=True):
    """One effect of a task that would run."""

    key: str
    kind: str
    stage: str | None
    segment: int | None
    fate: EffectFate
    note: str


class RevivalPlan(View, frozen=True):
    """A planned revival. `refusal`: why it would be refused; None: it would not."""

    letter_id: int
    job_id: int
    from_start: bool
    stages: list[StagePlan]
    effects: list[EffectPlan]
    refusal: str | None
    refusal_code: str | None


def make(store: Store, letter_id: int, *, from_start: bool = False) -> RevivalPlan:
    letter = store.deadletters.get(letter_id).letter
    job = store.deadletters.scope(letter)
    moves, refused = _outcome(letter, job, from_start=from_start)
    stages = list(_stages(store, letter, job, moves, from_start=from_start))
    effects = list(_effects(store, letter, job, moves, from_start=from_start))
    refusal = (None, None) if refused is None else (str(refused), refused.code)
    return RevivalPlan(letter.id, letter.job_id, from_start, stages, effects, *refusal)


def refusal(store: Store, letter: LetterRow, *, from_start: bool = False) -> LeaseholdError | None:
    """Return why a revival would be refused; None: it would not."""
    return _outcome(letter, store.deadletters.scope(letter), from_start=from_start)[1]


def _outcome(letter: LetterRow, job: JobTasks, *, from_start: bool) -> tuple[list[RevivalMove], LeaseholdError | None]:
    """Return the moves, and the first reason for a refusal."""
    refused = revival.refusal(letter.case)
    if letter.state != LetterState.OPEN:
        return [], refused
    try:
        return revival.moves_of(job, letter.case, from_start=from_start), refused
    except LeaseholdError as error:
        return [], refused or error


def _stages(
    store: Store, letter: LetterRow, job: JobTasks, moves: list[RevivalMove], *, from_start: bool
) -> Iterator[StagePlan]:
    moved = {move.task_id for move in moves if move.place != revival.RevivalPlace.GROWN}
    if not job.stages:
        yield StagePlan(None, Fate.RUNS if moves else Fate.STAYS)
    counts = store.deadletters.segments(letter.job_id)
    parent = job.member(letter.task_id).parent_id
    for stage in job.stages:
        if stage.id == parent and moves and not from_start:
            yield from _segments(stage, letter, counts.get(stage.stage or "", {}))
        else:
            yield _stage(job, stage, moved)


def _segments(stage: JobTask, letter: LetterRow, counts: dict[str, int]) -> Iterator[StagePlan]:
    yield StagePlan(stage.stage, Fate.RUNS, "" if letter.segment is None else f"segment {letter.segment + 1}")
    done = counts.get(Status.DONE, 0)
    stay = sum(counts.get(status, 0) for status in (Status.ERROR, Status.CANCELLED)) - 1
    under_way = sum(counts.values()) - done - stay - 1
    for fate, number in ((Fate.KEPT, done), (Fate.UNDER_WAY, under_way), (Fate.STAYS, stay)):
        if number > 0:
            yield StagePlan(stage.stage, fate, f"{number} of its segments")


def _stage(job: JobTasks, stage: JobTask, moved: set[int]) -> StagePlan:
    if stage.id in moved:
        after = ", ".join(f"'{one.stage}'" for one in job.needs_of(stage.id) if one.id in moved)
        return StagePlan(stage.stage, Fate.RUNS, f"after {after}" if after else "")
    if stage.status is None:
        return StagePlan(stage.stage, Fate.UNDER_WAY)
    if stage.status == Status.DONE:
        return StagePlan(stage.stage, Fate.KEPT)
    return StagePlan(stage.stage, Fate.STAYS, f"{stage.status}: {stage.error_class}")


def _effects(
    store: Store, letter: LetterRow, job: JobTasks, moves: list[RevivalMove], *, from_start: bool
) -> Iterator[EffectPlan]:
    """Plan the effects of tasks that would run. A fanned-out stage only waits and has no effects itself."""
    again = {move.task_id for move in moves if move.place != revival.RevivalPlace.GROWN}
    stages = {one.stage for one in job.stages if one.id in again and one.id != job.member(letter.task_id).parent_id}
    for row in rows_of(store, letter.job_id):
        is_own = (row.stage, row.segment) == (letter.stage, letter.segment)
        if moves and (from_start or is_own or row.stage in stages):
            without_result = EffectFate.REPEATED if row.failure else EffectFate.ASKED
            fate = EffectFate.REUSED if row.result is not None else without_result
            yield EffectPlan(row.key, row.kind, row.stage, row.segment, fate, NOTES[fate])
