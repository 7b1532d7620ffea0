"""Check budgets, spends and linked jobs: rows of the ledger and links match the events, and no budget is passed.

What a job below has spent is in its own journal; its sum with the others is compared with the budget at the root.
"""

from collections.abc import Iterable
from typing import Any

from leasehold.model.journal.event import Event, Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EventLine, TaskRecord, value_of
from leasehold.store.records import LinkFacts, SpendFacts, StoredTask

Numbered = tuple[int, Event]


def spends_differ(record: TaskRecord) -> Difference | None:
    """Return the first spend or refusal that no budget can have answered, or a key that was paid twice."""
    paid: set[Any] = set()
    for number, event in enumerate(record.events, 1):
        if event.name in (Name.SPENT, Name.REFUSED) and (found := _impossible(number, event, paid)) is not None:
            return found
    return None


def _impossible(number: int, event: EventLine, paid: set[Any]) -> Difference | None:
    detail = event.detail if isinstance(event.detail, dict) else {}
    for name in ("amount", "left"):
        value = detail.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return Difference(f"'{name}' of a spend", "0 or more", value, number)
    if event.name == Name.REFUSED:
        fits = detail["amount"] <= detail["left"]
        return Difference("what was refused", f"more than {detail['left']}", detail["amount"], number) if fits else None
    if detail.get("key") in paid:
        return Difference("the key of a spend", "one that was not paid before", detail.get("key"), number)
    paid.add(detail.get("key"))
    return None


def tree_differs(part: StoredTask) -> Difference | None:
    """Compare what a task spent, and the jobs it submitted, with its events."""
    numbered = list(enumerate(part.events, 1))
    spent = [one for one in numbered if one[1].name == Name.SPENT]
    linked = [one for one in numbered if one[1].name == Name.LINKED]
    return _rows_differ(spent, part.spends) or _rows_differ(linked, part.links)


def _rows_differ(events: Iterable[Numbered], rows: Iterable[SpendFacts] | Iterable[LinkFacts]) -> Difference | None:
    left = {row.key: row for row in rows}
    for number, event in events:
        detail = value_of(event.detail)
        detail = detail if isinstance(detail, dict) else {}
        row = left.pop(str(detail.get("key")), None)
        if row is None:
            return Difference(f"the row of what was {event.name}", detail.get("key"), "missing", number)
        expected, found = _facts(event, detail, row)
        if expected != found:
            return Difference(f"the row of what was {event.name}", expected, found, number)
    return next((Difference("the event of a row", key, "missing") for key in left), None)


def _facts(event: Event, detail: dict[str, Any], row: SpendFacts | LinkFacts) -> tuple[list[Any], list[Any]]:
    """Return what an event holds, and what its row does."""
    if isinstance(row, SpendFacts):
        expected = [detail.get("name"), detail.get("amount"), detail.get("left"), event.fence, event.at]
        return expected, [row.name, row.amount, row.remaining, row.fence, row.at]
    return [detail.get("child"), detail.get("kind"), detail.get("job")], [row.child, row.kind, row.job]


def budgets_differ(part: StoredTask) -> Difference | None:
    """Compare a job's budgets with what it was submitted with, and with what it and all jobs below it paid."""
    given = next((event.detail for event in part.events if event.name == Name.BUDGETED), None)
    limits = {one.name: one.most for one in part.budgets}
    expected = {"limits": {}} if given is None else value_of(given)
    if {"limits": limits} != expected:
        return Difference("its budgets", expected, limits)
    for one in part.budgets:
        if one.spent != one.paid:
            return Difference(f"what was spent of '{one.name}'", one.paid, one.spent)
        if one.spent > one.most:
            return Difference(f"what was spent of '{one.name}'", f"{one.most} or less", one.spent)
    return None
