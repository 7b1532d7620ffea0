"""Do a job's moves in its machine follow one another, and lead to where it stands?

They are told task by task, so their order among tasks is not known. But a walk leaves each state as often as it enters
it, except for the first and the last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from leasehold.model.journal.event import Name
from leasehold.model.journal.record import TaskRecord


class TransitionCheck:
    """Adds up the moves of a job and its parts."""

    def __init__(self) -> None:
        self._balance: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def follow(self, record: TaskRecord) -> None:
        """Take up the moves of the next task."""
        for event in record.events:
            if event.name == Name.MOVED and isinstance(event.detail, dict):
                balance = self._balance[str(event.detail.get("of", ""))]
                balance[str(event.detail.get("from"))] += 1
                balance[str(event.detail.get("to"))] -= 1

    def end(self) -> str:
        """Say whose moves do not follow one another, or nothing."""
        return next((said for subject in self._balance if (said := self._broken(subject))), "")

    def compare(self, states: Mapping[str, str]) -> str:
        """Say whose state is not where its moves lead, or nothing."""
        for subject in sorted({*self._balance, *states}):
            found = states.get(subject, "missing")
            lead = self._lead(subject)
            if found not in lead:
                return f"{_named(subject)} should be {' or '.join(lead) or 'missing'} and is {found}"
        return ""

    def _broken(self, subject: str) -> str:
        ends = sorted(count for count in self._balance[subject].values() if count)
        return "" if ends in ([], [-1, 1]) else f"the moves to {_named(subject)} do not follow one another"

    def _lead(self, subject: str) -> list[str]:
        """Where the moves end: in one state, or, if they went in a circle, in one of those."""
        balance = self._balance.get(subject, Counter())
        last = [state for state, count in balance.items() if count < 0]
        return last or sorted(balance)


def _named(subject: str) -> str:
    return f"the state of '{subject}'" if subject else "its state"
