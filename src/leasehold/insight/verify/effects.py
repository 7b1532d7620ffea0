"""Check a task's effects: keys are derived again, and results are compared with the ends of attempts.

The end of an attempt that was done names the effects it used, in order, and has a digest over their keys and results.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, ValidationError

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.insight.verify.ledger import ledger_differs
from leasehold.model.effect import UsedEffects, identity_of, key_of, name_of, sha256, used
from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EffectLine, EventLine, TaskRecord, text_of
from leasehold.shapes import Shape

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
        return self._keys_differ(record) or next(filter(None, ends), None) or ledger_differs(record)

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
