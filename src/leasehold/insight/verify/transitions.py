"""Check that a job's machine transitions follow one another and lead to its current state.

They are recorded task by task, so their order across tasks is unknown. But a walk leaves each state as often as it
enters it, except for the first and the last.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping

from leasehold.model.journal.event import Name
from leasehold.model.journal.record import TaskRecord


class TransitionCheck:
    def __init__(self) -> None:
        self._balance: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def follow(self, record: TaskRecord) -> None:
        for event in record.events:
            if event.name == Name.MOVED and isinstance(event.detail, dict):
                balance = self._balance[str(event.detail.get("of", ""))]
                balance[str(event.detail.get("from"))] += 1
                balance[str(event.detail.get("to"))] -= 1

    def end(self) -> str:
        """Return the first subject whose transitions do not follow one another, or ''."""
        for subject, balance in self._balance.items():
            if sorted(count for count in balance.values() if count) not in ([], [-1, 1]):
                return f"the moves to {_named(subject)} do not follow one another"
        return ""

    def compare(self, states: Mapping[str, str]) -> str:
        """Return the first subject whose state is not where its transitions lead, or ''."""
        for subject in sorted({*self._balance, *states}):
            found = states.get(subject, "missing")
            lead = self._lead(subject)
            if found not in lead:
                return f"{_named(subject)} should be {' or '.join(lead) or 'missing'} and is {found}"
        return ""

    def _lead(self, subject: str) -> list[str]:
        """Where the transitions end: in one state, or, after a circle, in one of its states."""
        balance = self._balance.get(subject, Counter())
        last = [state for state, count in balance.items() if count < 0]
        return last or sorted(balance)


def _named(subject: str) -> str:
    return f"the state of '{subject}'" if subject else "its state"
