"""What a replay answers to spends and linked jobs: what the events of the record hold. Nothing is paid or made."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import BudgetUnknown, KeyConflict
from leasehold.model.effect import Entry
from leasehold.model.journal.event import Name
from leasehold.model.journal.record import EventLine, TaskRecord, text_of
from leasehold.model.tree.budget import DebitAnswer, Spend
from leasehold.model.tree.link import Link, LinkAnswer
from leasehold.runtime.effects.children import REFUSALS

KEYED: Final = (Name.SPENT, Name.LINKED)


class Other(Struct, frozen=True):
    """What was not as recorded."""

    what: str
    expected: str | None
    found: str | None


def accepted(record: TaskRecord) -> dict[str, EventLine]:
    """Return the spends and linked jobs of a task, by key."""
    return {str(_detail(event).get("key")): event for event in record.events if event.name in KEYED}


class TreeAnswers:
    """Answers one replayed attempt; `known`: what all tasks of the job have on record, by key."""

    def __init__(self, record: TaskRecord, ending: EventLine, known: Mapping[str, EventLine]) -> None:
        self._known = known
        self._ending = ending
        own = [event for event in record.events if event.fence == ending.fence]
        self._left = [event for event in own if event.name in KEYED]
        self._refused = [event for event in own if event.name == Name.REFUSED]

    def spent(self, spend: Spend) -> Entry | Other:
        """Answer a spend: it was refused by this attempt, paid by it or one before, or not asked for."""
        for event in self._refused:
            detail = _detail(event)
            if (detail.get("key"), detail.get("amount")) == (spend.key, spend.amount):
                return _entry(spend, DebitAnswer.REFUSED, detail.get("left"))
        found = self._take(spend.key)
        if found is not None and found.get("amount") != spend.amount:
            return _entry(spend, DebitAnswer.CONFLICT, found.get("amount"))
        if found is not None:
            return _entry(spend, DebitAnswer.AGAIN, found.get("left"))
        if self._error_class == BudgetUnknown.code:
            return _entry(spend, DebitAnswer.UNKNOWN, None)
        return Other("spend", None, f"{spend.amount} {spend.name}")

    def linked(self, link: Link) -> Entry | Other:
        """Answer a linked job: it was made by this attempt or one before, or refused."""
        found = self._take(link.key)
        if found is not None and (found.get("kind"), found.get("payload")) == (link.kind, link.digest):
            return _entry(link, LinkAnswer.AGAIN, canonical.encode({"id": 0}))
        code = KeyConflict.code if found is not None else self._error_class
        if code == self._error_class and code in REFUSALS:
            return _entry(link, LinkAnswer.REFUSED, canonical.encode({"code": code, "detail": "as recorded"}))
        expected = None if found is None else f"{found.get('kind')} {found.get('payload')}"
        return Other(f"linked job '{link.name}'", expected, f"{link.kind} {link.digest}")

    def missed(self) -> Other | None:
        """Return the first spend or linked job of this attempt that was not asked for again."""
        for event in self._left:
            return Other("spend" if event.name == Name.SPENT else "linked job", text_of(event.detail), None)
        return None

    def _take(self, key: str) -> dict[str, Any] | None:
        event = self._known.get(key)
        if event is None:
            return None
        self._left = [one for one in self._left if one is not event]
        return _detail(event)

    @property
    def _error_class(self) -> str:
        return str(_detail(self._ending).get("error_class"))


def _entry(item: Spend | Link, verdict: str, result: object) -> Entry:
    return Entry(item.task_id, item.fence, item.key, verdict, None if result is None else str(result))


def _detail(event: EventLine) -> dict[str, Any]:
    return event.detail if isinstance(event.detail, dict) else {}
