"""Do a task's effects fit the journal and themselves? Their keys are made anew, and what attempts saw is looked for.

An attempt that was done tells how many results it got and a digest over them in the order it asked, not which. Who of
several it used is found by trying; where there are too many ways, that is said and not taken for a difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from math import comb, perm
from typing import Any, Final

from msgspec import UNSET

from leasehold import canonical
from leasehold.errors import LeaseholdError
from leasehold.insight.verify.ledger import ledger_differs
from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EffectLine, EventLine, Story, TaskLine, text_of

TRIES_MAX: Final = 50_000  # of so many ways in which an attempt may have asked, every one is tried

_Place = tuple[str | None, int | None]


class Effects:
    """Follows the effects of a job from task to task: a segment made anew finds the results of the one before it.

    `untold`: the first attempt of which it cannot be found out which results it used.
    """

    def __init__(self, kind: str | None = None, key: str | None = None) -> None:
        self._kind = kind
        self._key = key
        self._earlier: dict[_Place, list[EffectLine]] = {}
        self.untold = ""

    def differ(self, story: Story) -> Difference | None:
        """Compare a task's effects with their keys, and with what each attempt that was done tells of them."""
        place = (story.task.stage, story.task.segment)
        results = [one for one in story.effects if one.result is not UNSET]
        results = sorted([*self._earlier.get(place, ()), *results], key=lambda one: one.number)
        if story.events and story.events[-1].name == Name.SUPERSEDED:
            self._earlier[place] = results
        told = (self._trace_differs(story, number, event, results) for number, event in enumerate(story.events, 1))
        trace = (one for one in told if one is not None)
        return self._keys_differ(story) or next(trace, None) or ledger_differs(story)

    def _keys_differ(self, story: Story) -> Difference | None:
        if self._kind is None or self._key is None:
            return None
        for one in story.effects:
            key = _key_of(self._kind, self._key, story.task, one)
            if key != one.key:
                return Difference(f"the key of its effect {one.number} ({one.kind})", key, one.key)
        return None

    def _trace_differs(
        self, story: Story, number: int, event: EventLine, results: Sequence[EffectLine]
    ) -> Difference | None:
        """Look among the results on record for those that an attempt tells it got; it need not have asked for all."""
        told = event.detail if event.name == Name.DONE and isinstance(event.detail, dict) else {}
        count, digest = told.get("effects"), told.get("effects_sha256")
        if not isinstance(count, int) or digest is None:
            return None
        if count > len(results):
            return Difference("the number of effects with a result (one is missing)", count, len(results), number)
        if digest in _digests(event, results, count):
            return None
        if not _tried_all(event, results, count):
            untold = f"which {count} of {len(results)} effects it used, and in which order"
            self.untold = self.untold or f"{story.task.title}, event {number}: {untold}"
            return None
        return Difference("the digest of its effects", digest, _digest([_line(one) for one in results]), number)


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


def _digests(event: EventLine, results: Sequence[EffectLine], count: int) -> Iterator[str]:
    """Make the digests that the attempt may tell: the likely orders first, then every one if they are few enough."""
    by_time = sorted(results, key=lambda one: (one.recorded_at or 0, one.number))
    by_intent = sorted(results, key=lambda one: (one.intended_at, one.number))
    for order in (results, by_time, by_intent):
        yield from _parts(event, order, count)
    if _few(results, count):
        yield from map(_digest, permutations([_line(one) for one in results], count))


def _parts(event: EventLine, order: Sequence[EffectLine], count: int) -> Iterator[str]:
    """Take out of an order what the attempt did itself, and as many others as it used."""
    lines = [_line(one) for one in order]
    others = [place for place, one in enumerate(order) if not _own(event, one)]
    spare = len(order) - count
    if spare <= len(others) and comb(len(others), spare) <= TRIES_MAX:
        for unused in combinations(reversed(others), spare):
            yield _digest([line for place, line in enumerate(lines) if place not in unused])


def _few(results: Sequence[EffectLine], count: int) -> bool:
    return perm(len(results), count) <= TRIES_MAX


def _tried_all(event: EventLine, results: Sequence[EffectLine], count: int) -> bool:
    """Tell whether no other order is possible: every one was tried, or this attempt alone numbered the effects."""
    mine = count == len(results) and all(_own(event, one) for one in results)
    return _few(results, count) or (mine and len({one.number for one in results}) == len(results))


def _own(event: EventLine, effect: EffectLine) -> bool:
    return (effect.task, effect.fence) == (event.task, event.fence)


def _line(effect: EffectLine) -> str:
    return f"{effect.key}:{hashlib.sha256((text_of(effect.result) or '').encode()).hexdigest()}\n"


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()
