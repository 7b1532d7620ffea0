"""Check that a task's effects are possible: each was intended by an attempt while it ran, and ended once, later.

An effect's number, times and failure are on no hash chain, because no event is written with them. An edit that leaves
them possible is not detected.
"""

from msgspec import UNSET

from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EffectLine, EventLine, TaskRecord
from leasehold.model.limits import EFFECTS_MAX

# Not reclaimed: what a dead worker had sent before may be stamped a moment after.
ENDS = (Name.DONE, Name.FAILED, Name.RETRIED, Name.CANCELLED, Name.RELEASED)


def ledger_differs(record: TaskRecord) -> Difference | None:
    """Compare each effect with the attempt that intended it; return the first that is impossible."""
    if not record.effects:
        return None
    claims = {one.fence: one for one in record.events if one.name == Name.CLAIMED}
    ends = {one.fence: one for one in record.events if one.name in ENDS}
    for one in record.effects:
        found = _attempt_differs(one, claims.get(one.fence), ends.get(one.fence)) or _end_differs(one)
        if found is not None:
            return found
    return None


def _attempt_differs(effect: EffectLine, claim: EventLine | None, end: EventLine | None) -> Difference | None:
    what = f"its effect {effect.number} ({effect.kind})"
    if not 1 <= effect.number <= EFFECTS_MAX:
        return Difference(f"the number of {what}", f"1 to {EFFECTS_MAX}", effect.number)
    if claim is None:
        return Difference(f"the fence of {what}", "that of one of its attempts", effect.fence)
    if effect.attempt != claim.attempt:
        return Difference(f"the attempt of {what}", claim.attempt, effect.attempt)
    if effect.intended_at < claim.at:
        return Difference(f"intended_at of {what}", f"{claim.at} or later", effect.intended_at)
    if end is not None and effect.intended_at > end.at:
        return Difference(f"intended_at of {what}", f"{end.at} or earlier", effect.intended_at)
    return None


def _end_differs(effect: EffectLine) -> Difference | None:
    what = f"its effect {effect.number} ({effect.kind})"
    ended = effect.result is not UNSET or effect.failure is not UNSET
    if effect.result is not UNSET and effect.failure is not UNSET:
        return Difference(f"the failure of {what}, which has a result,", UNSET, effect.failure)
    if ended != (effect.recorded_at is not None):
        return Difference(f"recorded_at of {what}", "a time" if ended else UNSET, effect.recorded_at)
    if effect.recorded_at is not None and effect.recorded_at < effect.intended_at:
        return Difference(f"recorded_at of {what}", f"{effect.intended_at} or later", effect.recorded_at)
    if effect.failure is not UNSET and not (isinstance(effect.failure, dict) and "error_class" in effect.failure):
        return Difference(f"the failure of {what}", "an object with its class", effect.failure)
    return None
