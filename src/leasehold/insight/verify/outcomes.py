"""Check a task's outcomes byte by byte: failures as in the journal, no output of a failed one, every dead letter."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import UNSET

from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import EventLine, LetterLine, OutcomeLine, TaskRecord
from leasehold.model.status import Status
from leasehold.store.records import StoredTask

UNCLASSIFIED: Final = "UNCLASSIFIED"
HOLD_FAILURE: Final = (Name.FAILED, Name.CANCELLED)  # events whose detail is the failure


def ends_differ(record: TaskRecord) -> Difference | None:
    """Compare a task's outcomes with their outputs and dead letters; the fold has compared them with the events."""
    letters = {one.epoch: one for one in record.letters}
    for number, event, outcome in _ends(record.events, record.outcomes):
        letter = letters.pop(outcome.epoch, None)
        found = _end_differs(number, event, outcome, letter)
        if found is not None:
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
            return Difference(f"failure of the dead letter of epoch {letter.epoch}", outcome.failure, letter.failure)
    return None


def _ends(events: Sequence[Any], outcomes: Sequence[Any]) -> Iterator[tuple[int, Any, Any]]:
    left = list(outcomes)
    for number, event in enumerate(events, 1):
        if left and event.at == left[0].finished_at and _ends_it(event, left[0]):
            yield number, event, left.pop(0)


def _ends_it(event: Any, outcome: Any) -> bool:
    ends = {Name.DONE: Status.DONE, Name.FAILED: Status.ERROR, Name.CANCELLED: Status.CANCELLED}
    if event.name in (Name.RELEASED, Name.RECLAIMED):
        return outcome.status != Status.DONE and bool(event.fence == outcome.fence)
    return event.name in ends and bool(ends[Name(event.name)] == outcome.status)


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
            return Difference(f"{name} of the dead letter of epoch {letter.epoch}", value, getattr(letter, name))
    return None
