"""Check a task's outcomes byte by byte, and its dead letters: failures as in the journal, first failure, state."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import ENDS, Difference
from leasehold.model.journal.record import EventLine, LetterLine, OutcomeLine, TaskRecord
from leasehold.model.revival import LetterState
from leasehold.model.status import Status
from leasehold.store.records import LetterFacts, StoredTask

UNCLASSIFIED: Final = "UNCLASSIFIED"
FAILING: Final = (Name.RETRIED, Name.RECLAIMED)
HOLD_FAILURE: Final = (Name.FAILED, Name.CANCELLED)  # events whose detail is the failure


def ends_differ(record: TaskRecord) -> Difference | None:
    """Compare a task's outcomes with their outputs and dead letters; the fold has compared them with the events."""
    letters = {one.epoch: one for one in record.letters}
    for number, event, outcome in _ends(record.events, record.outcomes):
        if (found := _end_differs(number, event, outcome, letters.pop(outcome.epoch, None))) is not None:
            return found
    return Difference("the number of its other dead letters", 0, len(letters)) if letters else None


def texts_differ(part: StoredTask) -> Difference | None:
    """Compare the failures of a task's outcomes byte for byte with the journal and the dead letters."""
    letters = {one.epoch: one for one in part.letters}
    for number, event, outcome in _ends(part.events, part.outcomes):
        if event.name in HOLD_FAILURE and event.detail != outcome.failure:
            return Difference(
                f"the text of the failure of epoch {outcome.epoch}", event.detail, outcome.failure, number
            )
        letter = letters.get(outcome.epoch)
        if letter is not None and letter.failure != outcome.failure:
            return _letter_difference(letter, "failure", outcome.failure, letter.failure)
    return None


def _ends(events: Sequence[Any], outcomes: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    left = list(outcomes)
    for number, event in enumerate(events, 1):
        if left and event.at == left[0].finished_at and _ends_it(event, left[0]):
            yield number, event, left.pop(0)


def _ends_it(event: Any, outcome: Any) -> bool:
    if event.name in (Name.RELEASED, Name.RECLAIMED):
        return outcome.status != Status.DONE and bool(event.fence == outcome.fence)
    return bool(ENDS.get(event.name) == outcome.status)


def _end_differs(number: int, event: EventLine, outcome: OutcomeLine, letter: LetterLine | None) -> Difference | None:
    if outcome.status == Status.ERROR and outcome.output is not UNSET:
        return Difference(f"output of the outcome of epoch {outcome.epoch}", UNSET, outcome.output, number)
    what = f"the dead letter of epoch {outcome.epoch}"
    if letter is None:
        buried = outcome.status == Status.ERROR and event.fence is not None
        return Difference(what, "there", "missing", number) if buried else None
    if outcome.status != Status.ERROR:
        return Difference(what, "absent", "there", number)
    return _letter_differs(event, outcome, letter)


def _letter_differs(event: EventLine, outcome: OutcomeLine, letter: LetterLine) -> Difference | None:
    failure = outcome.failure if isinstance(outcome.failure, dict) else {}
    expected = {
        "fence": outcome.fence,
        "error_class": failure.get("error_class") or UNCLASSIFIED,
        "failure": outcome.failure,
        "last_failure_at": outcome.finished_at,
        "attempts": letter.attempts if event.attempt is None else event.attempt,
    }
    for name, value in expected.items():
        if value != getattr(letter, name):
            return _letter_difference(letter, name, value, getattr(letter, name))
    return None


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
            wrong, right = (LetterState.OPEN, "revived") if letter.epoch in past else (LetterState.REVIVED, "open")
            if letter.state == wrong:  # a cancelled job's is resolved
                return _letter_difference(letter, "state", right, letter.state)
            self._newest[place] = letter.error_class
            fence = max(fence, letter.fence)
        return None


def states_differ(part: StoredTask) -> Difference | None:
    """Compare the state of letters with the audit trail: resolving one leaves a line there."""
    for letter in part.letters:
        if (letter.state == LetterState.RESOLVED) != letter.resolved:
            expected = LetterState.RESOLVED.value if letter.resolved else "what the audit trail records, not resolved"
            return _letter_difference(letter, "state", expected, letter.state)
    return None


def _began(record: TaskRecord, letter: LetterLine, fence: int) -> int:
    """Return the time of the first failure after the letter before."""
    failing = (event for event in record.events if event.name in FAILING and event.fence is not None)
    return min((one.at for one in failing if fence < (one.fence or 0) < letter.fence), default=letter.last_failure_at)


def _letter_difference(letter: LetterLine | LetterFacts, name: str, expected: object, found: object) -> Difference:
    return Difference(f"{name} of the dead letter of epoch {letter.epoch}", expected, UNSET if found is None else found)
