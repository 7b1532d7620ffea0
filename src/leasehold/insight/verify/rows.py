"""Check that all rows of a job exist (its own, every stage and segment), and that its transitions lead to its state."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from leasehold.model.journal.event import Name
from leasehold.model.journal.record import OutcomeLine, TaskRecord
from leasehold.model.status import Status


class RowCheck:
    """Checks that a job has its stages, and each fan-out as many segments, without a gap, as its source has items."""

    def __init__(self) -> None:
        self._stages_due = 0
        self._stages: set[str] = set()
        self._wanted: set[str] = set()
        self._outputs: dict[str, object] = {}
        self._group: TaskRecord | None = None
        self._next: dict[int, int] = {}
        self._last: TaskRecord | None = None

    def follow(self, record: TaskRecord) -> str:
        """Check the next task; return which one is missing before it, or ''."""
        task = record.task
        if task.segment is None:
            missing_segments = self.close()
            self._open(record)
            return missing_segments
        if self._group is None or self._group.task.stage != task.stage:
            return f"{task.title}: stage '{task.stage}' itself is missing"
        due = self._next.get(task.epoch, 0)
        self._next[task.epoch] = task.segment + 1
        self._last = record
        return "" if task.segment == due else f"{task.title}: segment {due + 1} of '{task.stage}' is missing"

    def end(self) -> str:
        """Count the segments of the last fan-out, and the stages; return what is missing, or ''."""
        if missing_segments := self.close():
            return missing_segments
        if missing := sorted(self._wanted - self._stages):
            return f"stage '{missing[0]}' itself is missing"
        found = len(self._stages)
        return "" if found == self._stages_due else _counted("task 0", "stages", self._stages_due, found)

    def close(self) -> str:
        """Count the segments of the latest fan-out."""
        group, last = self._group, self._last
        if group is None or group.task.each is None:
            return ""
        made = last is not None and last.events[-1:] != [] and last.events[-1].name != Name.SUPERSEDED
        if not made and _done(group) is None:
            return ""  # they were not made yet, or could not be
        expected = self._items(group)
        found = self._next[last.task.epoch] if made and last is not None else 0
        if expected is None or found == expected:
            return ""
        return _counted(group.task.title, "segments", expected, found)

    def _open(self, record: TaskRecord) -> None:
        self._group, self._last, self._next = record, None, {}
        self._wanted.update(record.task.after)
        if record.task.stage is None:
            self._stages_due = record.task.stages
        else:
            self._stages.add(record.task.stage)
        end = _done(record)
        if record.task.stage is not None and end is not None and record.task.each is None:
            self._outputs[record.task.stage] = end.output

    def _items(self, group: TaskRecord) -> int | None:
        """Return how many items the source of a fan-out has, where that is on record."""
        output = self._outputs.get(group.task.after[0]) if group.task.after else None  # it fans out over the first
        items = output.get(group.task.each) if isinstance(output, dict) else None
        return len(items) if isinstance(items, list) else None


def _done(record: TaskRecord) -> OutcomeLine | None:
    return next((one for one in reversed(record.outcomes) if not one.past and one.status == Status.DONE), None)


def _counted(title: str, what: str, expected: int, found: int) -> str:
    return f"{title}: the number of its {what} should be {expected} and is {found}"


class TransitionCheck:
    """Checks that a job's machine transitions follow one another and lead to its current state.

    They are recorded task by task, so their order across tasks is unknown. But a walk leaves each state as often as it
    enters it, except for the first and the last.
    """

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
            balance = self._balance.get(subject, Counter())
            # Transitions end in one state, or, after a circle, in one of its states.
            lead = [state for state, count in balance.items() if count < 0] or sorted(balance)
            found = states.get(subject, "missing")
            if found not in lead:
                return f"{_named(subject)} should be {' or '.join(lead) or 'missing'} and is {found}"
        return ""


def _named(subject: str) -> str:
    return f"the state of '{subject}'" if subject else "its state"
