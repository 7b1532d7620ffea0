"""Check a task's effects and messages: keys and digests are derived again, results and times compared with its events.

The end of an attempt that was done names the effects it used, in order, and has a digest over their keys and results.
An effect's number, times and failure are on no hash chain, because no event is written with them: an edit that leaves
them possible is not detected. A message that two tasks delivered belongs to the first of them, and is pruned with it.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import UNSET, ValidationError

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.model.delivery import mark_of, marks_in
from leasehold.model.effect import UsedEffects, identity_of, key_of, name_of, sha256, used
from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EffectLine, EventLine, TaskRecord, text_of
from leasehold.model.limits import EFFECTS_MAX
from leasehold.shapes import Shape
from leasehold.store.records import StoredTask

# Not reclaimed: what a dead worker had sent before may be stamped a moment after.
ENDS: Final = (Name.DONE, Name.FAILED, Name.RETRIED, Name.CANCELLED, Name.RELEASED)
_used: Final = Shape[UsedEffects](UsedEffects)


class EffectCheck:
    """Checks the effects of a job task by task: a segment that is made again finds the earlier results."""

    def __init__(self, kind: str | None = None, key: str | None = None) -> None:
        self._kind = kind
        self._key = key
        self._earlier: dict[tuple[str | None, int | None], dict[str, EffectLine]] = {}

    def differ(self, record: TaskRecord) -> Difference | None:
        """Compare a task's effects with their keys, and with the end of each attempt that was done."""
        part = (record.task.stage, record.task.segment)
        results = dict(self._earlier.get(part, {}))
        results.update((name_of(effect.key), effect) for effect in record.effects if effect.result is not UNSET)
        if record.events and record.events[-1].name == Name.SUPERSEDED:
            self._earlier[part] = results
        ends = (_used_differ(number, event, results) for number, event in enumerate(record.events, 1))
        return self._keys_differ(record) or next(filter(None, ends), None) or _impossible(record)

    def _keys_differ(self, record: TaskRecord) -> Difference | None:
        if self._kind is None or self._key is None:
            return None
        identity = identity_of(self._kind, self._key, record.task.stage, record.task.segment)
        for effect in record.effects:
            try:
                key = key_of(identity, effect.kind, canonical.encode(effect.fields))
            except LeaseholdError:
                key = "that of other fields"
            if key != effect.key:
                return Difference(f"the key of its effect {effect.number} ({effect.kind})", key, effect.key)
        return None


def _used_differ(number: int, event: EventLine, results: Mapping[str, EffectLine]) -> Difference | None:
    """Compare the results on record with those that an attempt got; it need not have asked for all."""
    if event.name != Name.DONE or not isinstance(event.detail, dict) or "effects" not in event.detail:
        return None
    try:
        expected = _used.convert({name: event.detail.get(name) for name in ("effects", "effects_sha256")})
    except ValidationError:
        return Difference("the effects it used", "a list of names with a digest", event.detail["effects"], number)
    missing = [name for name in expected.effects if name not in results]
    if missing:
        return Difference("the result of an effect that it used", missing[0], "missing", number)
    found = used((results[name].key, sha256(text_of(results[name].result) or "")) for name in expected.effects)
    if found.effects_sha256 != expected.effects_sha256:
        return Difference("the digest of its effects", expected.effects_sha256, found.effects_sha256, number)
    return None


def _impossible(record: TaskRecord) -> Difference | None:
    """Return the first effect that no attempt can have intended while it ran, or that did not end once, later."""
    claims = {one.fence: one for one in record.events if one.name == Name.CLAIMED}
    ends = {one.fence: one for one in record.events if one.name in ENDS}
    found = (
        _attempt_differs(one, claims.get(one.fence), ends.get(one.fence)) or _end_differs(one) for one in record.effects
    )
    return next(filter(None, found), None)


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


def messages_differ(record: TaskRecord) -> Difference | None:
    """Compare a task's deliveries with the digests in its end events; return the first difference."""
    recorded = {(mark, at) for _, at, mark in _recorded(record)}
    posted = {mark for mark, _ in recorded}
    for one in record.deliveries:
        what = f"its delivery of '{one.subject}' to '{one.recipient}', version {one.version},"
        mark = mark_of(one.subject, one.recipient, one.version, text_of(one.message) or "", one.provider)
        if mark not in posted:
            return Difference(what, "as it was posted", "another")
        if (mark, one.created_at) not in recorded:
            return Difference(f"created_at of {what[:-1]}", "when its task was done", one.created_at)
    return None


class MessageCheck:
    """Checks the messages of a job. `pruned`: the first that is gone and may have been pruned with another job."""

    def __init__(self) -> None:
        self.pruned = ""

    def differ(self, part: StoredTask, record: TaskRecord) -> Difference | None:
        """Compare the outbox byte for byte with a task's end events; return the first message that is missing."""
        found = messages_differ(record)
        if found is not None:
            return found
        for number, at, mark in _recorded(record):
            if mark in part.outbox.present:
                continue
            if at > part.outbox.pruned_at:
                return Difference("a message that it posted", "there", "missing or changed", number)
            pruned = "a message that it posted; it may have been pruned with an earlier job that posted it too"
            self.pruned = self.pruned or f"{record.task.title}, event {number}: {pruned}"
        return None


def _recorded(record: TaskRecord) -> Iterator[tuple[int, int, str]]:
    for number, event in enumerate(record.events, 1):
        if event.name == Name.DONE and event.fence is not None:
            yield from ((number, event.at, mark) for mark in marks_in(event.detail))
