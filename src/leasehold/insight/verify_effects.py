"""Do a task's effects fit the journal and themselves? Their keys are made anew, and what attempts saw is looked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any, Final

from msgspec import UNSET

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.model.event import Name
from leasehold.model.fold import Difference
from leasehold.model.record import EffectLine, EventLine, Story, TaskLine, text_of

ORDERS_MAX: Final = 6  # of so many results every order is tried

_Place = tuple[str | None, int | None]


class Effects:
    """Follows the effects of a job from task to task: a segment made anew finds the results of the one before it."""

    def __init__(self, kind: str | None = None, key: str | None = None) -> None:
        self._kind = kind
        self._key = key
        self._earlier: dict[_Place, list[EffectLine]] = {}

    def differ(self, story: Story) -> Difference | None:
        """Compare a task's effects with their keys, and with what each attempt that was done tells of them."""
        place = (story.task.stage, story.task.segment)
        results = [one for one in story.effects if one.result is not UNSET]
        results = sorted([*self._earlier.get(place, ()), *results], key=lambda one: one.number)
        if story.events and story.events[-1].name == Name.SUPERSEDED:
            self._earlier[place] = results
        told = (_trace_differs(number, event, results) for number, event in enumerate(story.events, 1))
        return next((found for found in (self._keys_differ(story), *told) if found is not None), None)

    def _keys_differ(self, story: Story) -> Difference | None:
        if self._kind is None or self._key is None:
            return None
        for one in story.effects:
            key = _key_of(self._kind, self._key, story.task, one)
            if key != one.key:
                return Difference(f"the key of its effect {one.number} ({one.kind})", key, one.key)
        return None


def _key_of(kind: str, key: str, task: TaskLine, effect: EffectLine) -> str:
    """Make an effect's key from what it is, as `model/effect.py` does."""
    named: dict[str, Any] = {"key": key, "kind": kind}
    if task.stage is not None:
        named["stage"] = task.stage
    if task.segment is not None:
        named["segment"] = task.segment
    document = {"fields": effect.fields, "kind": effect.kind, "task": named, "v": 1}
    try:
        return hashlib.sha256(canonical.encode(document).encode("utf-8")).hexdigest()
    except LeaseholdError:
        return "that of other fields"


def _trace_differs(number: int, event: EventLine, results: Sequence[EffectLine]) -> Difference | None:
    """Look among the results on record for those that an attempt tells it got; it need not have asked for all."""
    told = event.detail if event.name == Name.DONE and isinstance(event.detail, dict) else {}
    count, digest = told.get("effects"), told.get("effects_sha256")
    if not isinstance(count, int) or digest is None:
        return None
    if count > len(results):
        return Difference("the number of effects with a result (one is missing)", count, len(results), number)
    if digest in _digests(results, count):
        return None
    if len(results) > ORDERS_MAX and (count < len(results) or not _ordered(event, results)):
        return None  # which effects they were, or in which order they were asked for, is not on record
    return Difference("the digest of its effects", digest, _digest([_line(one) for one in results]), number)


def _digests(results: Sequence[EffectLine], count: int) -> Iterator[str]:
    by_time = sorted(results, key=lambda one: (one.recorded_at or 0, one.number))
    by_intent = sorted(results, key=lambda one: (one.intended_at, one.number))
    for order in (results, by_time, by_intent):
        yield _digest([_line(one) for one in order])
    if len(results) <= ORDERS_MAX:
        yield from map(_digest, permutations([_line(one) for one in results], count))


def _ordered(event: EventLine, results: Sequence[EffectLine]) -> bool:
    """Tell whether this attempt alone numbered the effects."""
    mine = all((one.task, one.fence) == (event.task, event.fence) for one in results)
    return mine and len({one.number for one in results}) == len(results)


def _line(effect: EffectLine) -> str:
    return f"{effect.key}:{hashlib.sha256((text_of(effect.result) or '').encode()).hexdigest()}\n"


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()
