"""Check a job's dead letters against its events: first failure, escalation, state."""

from msgspec import UNSET

from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import LetterLine, TaskRecord
from leasehold.model.revival import LetterState
from leasehold.store.records import StoredTask

FAILING = (Name.RETRIED, Name.RECLAIMED)


class LetterCheck:
    """Checks the letters of a job: one is escalated if the letter before it, of the same part, had the same class."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str | None, int | None], str] = {}

    def differ(self, record: TaskRecord) -> Difference | None:
        """Compare a task's letters with its events and with the letters before."""
        place = (record.task.stage, record.task.segment)
        past = {one.epoch for one in record.outcomes if one.past}
        fence = 0
        for letter in sorted(record.letters, key=lambda one: one.epoch):
            failure = letter.failure if isinstance(letter.failure, dict) else {}
            again = not failure.get("retryable") and self._newest.get(place) == letter.error_class
            for name, expected in (("first_failure_at", _began(record, letter, fence)), ("escalated", again)):
                if getattr(letter, name) != expected:
                    return _letter_difference(letter, name, expected, getattr(letter, name))
            if letter.state == (
                LetterState.OPEN if letter.epoch in past else LetterState.REVIVED
            ):  # a cancelled job's is resolved
                return _letter_difference(letter, "state", "revived" if letter.epoch in past else "open", letter.state)
            self._newest[place] = letter.error_class
            fence = max(fence, letter.fence)
        return None


def states_differ(part: StoredTask) -> Difference | None:
    """Compare the state of letters with the audit trail: resolving one leaves a line there."""
    for letter in part.letters:
        if (letter.state == LetterState.RESOLVED) != letter.resolved:
            expected = LetterState.RESOLVED.value if letter.resolved else "what the audit trail records, not resolved"
            return Difference(f"state of the dead letter of epoch {letter.epoch}", expected, letter.state)
    return None


def _began(record: TaskRecord, letter: LetterLine, fence: int) -> int:
    """Return the time of the first failure after the letter before."""
    failures = [
        event.at
        for event in record.events
        if event.name in FAILING and event.fence is not None and fence < event.fence < letter.fence
    ]
    return min(failures, default=letter.last_failure_at)


def _letter_difference(letter: LetterLine, name: str, expected: object, found: object) -> Difference:
    return Difference(f"{name} of the dead letter of epoch {letter.epoch}", expected, UNSET if found is None else found)
