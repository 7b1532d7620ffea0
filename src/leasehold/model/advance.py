"""What follows when tasks settle: pure decisions for the orchestrator, from data alone.

A waiting task counts what it still waits for (`unmet`). A stage waits for its prerequisites; a job for its stages; a
stage that fanned out for its segments. At zero a stage becomes ready or fans out, and a job or a fanned-out stage ends.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import EachInvalid, FanOutTooLarge, LeaseholdError
from leasehold.model.failure.failure import Failure
from leasehold.model.limits import MESSAGE_LENGTH_MAX, SEGMENTS_MAX
from leasehold.model.names import clean
from leasehold.model.status import Status
from leasehold.model.task import Child, Facts


class SettledTask(Struct, frozen=True):
    """A task that has ended, and whose dependents have not been moved yet."""

    task_id: int
    stage: str
    status: str


class Dependent(Struct, frozen=True):
    """A waiting task that `on_task_id` concerns, as prerequisite or as part (`is_part`)."""

    task_id: int
    on_task_id: int
    is_part: bool
    unmet: int
    each_field: str | None


class Tally(Struct, frozen=True):
    """How the parts of a waiting task ended, with the first failure among them."""

    parent_id: int
    errors: int
    cancels: int
    stage: str | None
    segment: int | None
    failure: str | None


class Ended(Struct, frozen=True):
    """A waiting task that ends without running. `buried`: by its own failure, not by that of a part or prerequisite."""

    task_id: int
    status: str
    failure: str | None = None
    buried: bool = False


@dataclass(slots=True)
class Moves:
    """What the orchestrator does next, by task id."""

    count_down: dict[int, int] = field(default_factory=dict)
    ready: list[int] = field(default_factory=list)
    fan_out: list[int] = field(default_factory=list)
    conclude: list[int] = field(default_factory=list)
    cancel: list[Ended] = field(default_factory=list)


def decide(settled: Iterable[SettledTask], dependents: Iterable[Dependent]) -> Moves:
    """Choose what follows a batch of settled tasks for those that wait for them."""
    ends = {end.task_id: end for end in settled}
    moves = Moves()
    grouped: dict[int, list[Dependent]] = {}
    for row in dependents:
        grouped.setdefault(row.task_id, []).append(row)
    for task_id, rows in grouped.items():
        prerequisites = (ends[row.on_task_id] for row in rows if not row.is_part)
        failed = next((end for end in prerequisites if end.status != Status.DONE), None)
        if failed is None:
            _count(moves, task_id, rows)
        else:
            message = f"stage '{failed.stage}' ended {failed.status}, so this can no longer run"
            moves.cancel.append(Ended(task_id, Status.CANCELLED, Failure("PREREQUISITE_FAILED", message).text()))
    return moves


def _count(moves: Moves, task_id: int, rows: list[Dependent]) -> None:
    left = rows[0].unmet - len(rows)
    if left > 0:
        moves.count_down[task_id] = left
    elif rows[0].is_part:
        moves.conclude.append(task_id)
    elif rows[0].each_field is not None:
        moves.fan_out.append(task_id)
    else:
        moves.ready.append(task_id)


def conclude(task_id: int, tally: Tally | None) -> Ended:
    """Choose how a job or a fanned-out stage ends, all its parts being settled."""
    if tally is None or not (tally.errors or tally.cancels):
        return Ended(task_id, Status.DONE)
    where = f"stage '{tally.stage}'" + ("" if tally.segment is None else f" segment {tally.segment + 1}")
    if tally.errors:
        cause = canonical.decode(tally.failure) if tally.failure else {}
        message = f"{where} failed: {cause.get('message', 'no reason recorded')}"
        return Ended(task_id, Status.ERROR, Failure(str(cause.get("error_class", "BUG")), message).text())
    return Ended(task_id, Status.CANCELLED, Failure("CANCELLED", f"{where} was cancelled").text())


def fan_out(group: Facts) -> list[Child] | Ended:
    """Return one child per item of the upstream list; or the end of the stage, if there is none or no list."""
    try:
        segments = [
            Child(
                job_id=group.job_id,
                parent_id=group.id,
                kind=group.kind,
                stage=group.stage,
                terms=group.terms,
                priority=group.priority,
                segment=number,
                item=canonical.encode(item),
                epoch=group.epoch,
            )
            for number, item in enumerate(_items(group))
        ]
        return segments or Ended(group.id, Status.DONE)
    except LeaseholdError as error:
        failure = Failure(error.code, clean(str(error), MESSAGE_LENGTH_MAX))
        return Ended(group.id, Status.ERROR, failure.text(), buried=True)


def _items(group: Facts) -> list[object]:
    if group.source_output is None:
        raise EachInvalid(
            f"Stage '{group.stage}' fans out over '{group.each_field}', but its source has no output of its own."
        )
    output = canonical.decode(group.source_output)
    items = output.get(group.each_field) if isinstance(output, dict) else None
    if not isinstance(items, list):
        raise EachInvalid(f"Stage '{group.stage}' fans out over '{group.each_field}', which is {type(items).__name__}.")
    if len(items) > SEGMENTS_MAX:
        raise FanOutTooLarge(f"'{group.each_field}' has {len(items):,} items; the limit is {SEGMENTS_MAX:,}.")
    return items
