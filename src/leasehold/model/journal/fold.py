"""What a task's events add up to: where it must stand, and how each of its epochs ended. Pure.

Every change of place is one event (S6), so place, attempt, fence and epoch follow from the events alone. An event that
cannot follow the ones before it, or an outcome that does not match the events, is a `Difference`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import UNSET, Struct

from leasehold.model.journal.event import Name
from leasehold.model.journal.record import EventLine, OutcomeLine, TaskRecord, Value
from leasehold.model.status import Status

WAITING: Final = "waiting"
READY: Final = "ready"
LEASE: Final = "lease"
OUTCOME: Final = "outcome"
NOWHERE: Final = "nowhere"
CLEARED_AT: Final = {"NEW": WAITING, "RUNNING": LEASE}  # where a task stays while losses are taken back
BEGUN: Final = frozenset({WAITING, READY})
ENDS: Final[dict[str, str]] = {Name.DONE: Status.DONE, Name.FAILED: Status.ERROR, Name.CANCELLED: Status.CANCELLED}


class Difference(Struct, frozen=True):
    """The first thing that does not match. `event` counts a task's events from 1; None: it is about none of them."""

    what: str
    expected: Any
    found: Any
    event: int | None = None

    def sentence(self) -> str:
        where = "" if self.event is None else f"event {self.event}: "
        return f"{where}{self.what} should be {_shown(self.expected)} and is {_shown(self.found)}"


class Ending(Struct, frozen=True):
    """How one epoch ended, by its events. `failure` is `...` where the events do not hold it."""

    epoch: int
    fence: int
    status: str
    finished_at: int
    failure: Value


@dataclass(slots=True)
class TaskState:
    """Where a task is after its events; several places where the events do not determine it."""

    places: frozenset[str] = frozenset({NOWHERE})
    attempt: int = 0
    losses: int = 0
    fence: int = 0
    epoch: int = 1
    due_at: int | None = None
    endings: list[Ending] = field(default_factory=list)

    def move(self, *places: str) -> None:
        self.places, self.due_at = frozenset(places), None

    def end(self, status: str, event: EventLine, failure: Value) -> None:
        self.move(OUTCOME)
        self.endings.append(Ending(self.epoch, self.fence, status, event.at, failure))


class _Differs(Exception):
    def __init__(self, what: str, expected: Any, found: Any) -> None:
        super().__init__(what)
        self.what, self.expected, self.found = what, expected, found


def fold(events: Sequence[EventLine]) -> TaskState | Difference:
    state = TaskState()
    if not events:
        return Difference("its first event", Name.SUBMITTED.value, "missing", 1)
    for number, event in enumerate(events, 1):
        try:
            _apply(state, event, first=number == 1)
        except _Differs as found:
            return Difference(found.what, found.expected, found.found, number)
    return state


def _apply(state: TaskState, event: EventLine, *, first: bool) -> None:
    if first != (event.name == Name.SUBMITTED):
        raise _Differs("its name", Name.SUBMITTED.value if first else "another", event.name)
    match event.name:
        case Name.SUBMITTED | Name.BUDGETED:
            _stand(state, event, *((NOWHERE,) if first else sorted(BEGUN)))
            state.move(*BEGUN)
        case Name.ADVANCED:
            _advance(state, event)
        case Name.CLAIMED:
            _claim(state, event)
        case Name.REVIVED | Name.SUPERSEDED:
            _begin_epoch(state, event)
        case Name.CLEARED:
            _clear(state, event)
        case _ if event.fence is None:
            _end_unrun(state, event)
        case _:
            _end_attempt(state, event)


def _stand(state: TaskState, event: EventLine, *allowed: str) -> None:
    if not state.places.intersection(allowed):
        raise _Differs(f"the place before '{event.name}'", " or ".join(allowed), " or ".join(sorted(state.places)))


def _same(what: str, expected: object, found: object) -> None:
    if expected != found:
        raise _Differs(what, expected, found)


def _advance(state: TaskState, event: EventLine) -> None:
    _stand(state, event, WAITING)
    if state.due_at is not None and event.at < state.due_at:
        raise _Differs("its time", f"{state.due_at} or later", event.at)
    state.move(READY)


def _claim(state: TaskState, event: EventLine) -> None:
    _stand(state, event, READY)
    state.fence += 1
    state.attempt += 1
    _same("its fence", state.fence, event.fence)
    _same("its attempt", state.attempt, event.attempt)
    state.move(LEASE)


def _clear(state: TaskState, event: EventLine) -> None:
    """Take back losses that another task was convicted of: those attempts were not spent either."""
    stays = CLEARED_AT.get(_fact(event, "status"))
    _stand(state, event, *((READY, WAITING) if stays is None else (stays,)))
    losses = _fact(event, "losses")
    if not isinstance(losses, int) or not 0 <= losses < state.losses:
        raise _Differs("its losses", f"fewer than {state.losses}", losses)
    state.attempt -= state.losses - losses
    state.losses = losses
    _same("its fence", state.fence, event.fence)
    _same("its attempt", state.attempt, event.attempt)
    if stays is None:
        state.move(READY)


def _begin_epoch(state: TaskState, event: EventLine) -> None:
    _stand(state, event, OUTCOME)
    _same("its fence", state.fence, event.fence)
    if event.name == Name.SUPERSEDED:
        state.move(NOWHERE)
        return
    state.epoch += 1
    state.attempt = state.losses = 0
    _same("its epoch", state.epoch, _fact(event, "epoch"))
    state.move(*BEGUN)


def _end_unrun(state: TaskState, event: EventLine) -> None:
    """An end without an attempt: all parts have ended, it can no longer run, or it was cancelled."""
    if event.name not in ENDS:
        raise _Differs("its name", "one of the journal's", event.name)
    _stand(state, event, WAITING, *((READY,) if event.name == Name.CANCELLED else ()))
    state.end(ENDS[event.name], event, event.detail)


def _end_attempt(state: TaskState, event: EventLine) -> None:
    _stand(state, event, LEASE)
    _same("its fence", state.fence, event.fence)
    _same("its attempt", state.attempt, event.attempt)
    match event.name:
        case Name.ASKED | Name.MOVED | Name.SPENT | Name.REFUSED | Name.LINKED:
            pass
        case Name.RETRIED:
            state.move(WAITING)
            delay = _fact(event, "delay_us")
            state.due_at = event.at + delay if isinstance(delay, int) else None
        case Name.DONE | Name.FAILED | Name.CANCELLED:
            state.end(ENDS[event.name], event, UNSET if event.name == Name.DONE else event.detail)
        case Name.RELEASED | Name.RECLAIMED:
            _reclaim(state, event)
        case _:
            raise _Differs("its name", "one of the journal's", event.name)


def _reclaim(state: TaskState, event: EventLine) -> None:
    if (losses := _fact(event, "losses")) is not None:
        state.losses += 1
        _same("its losses", state.losses, losses)
    status = _fact(event, "status")
    if status not in (Status.READY, Status.ERROR, Status.CANCELLED):
        raise _Differs("its status", "READY, ERROR or CANCELLED", status)
    if status != Status.READY:
        state.end(status, event, ...)
        return
    delay = _fact(event, "delay_us")
    state.move(WAITING if isinstance(delay, int) else READY)
    state.due_at = event.at + delay if isinstance(delay, int) else None
    if event.name == Name.RELEASED or _fact(event, "began") is False:
        state.attempt -= 1


def _fact(event: EventLine, name: str) -> Any:
    return event.detail.get(name) if isinstance(event.detail, dict) else None


def compare(record: TaskRecord) -> TaskState | Difference:
    """Fold a task's events and compare the result with its facts and outcomes."""
    state = fold(record.events)
    if isinstance(state, Difference):
        return state
    if record.events[0].at != record.task.created_at:
        return Difference("created_at", record.events[0].at, record.task.created_at, 1)
    return _ends_differ(state, record.outcomes) or state


def _ends_differ(state: TaskState, outcomes: Sequence[OutcomeLine]) -> Difference | None:
    if len(state.endings) != len(outcomes):
        return Difference("the number of its outcomes", len(state.endings), len(outcomes))
    for ending, outcome in zip(state.endings, outcomes, strict=True):
        current = ending is state.endings[-1] and OUTCOME in state.places
        for name in ("epoch", "status", "fence", "finished_at"):
            if getattr(ending, name) != getattr(outcome, name):
                what = f"{name} of the outcome of epoch {outcome.epoch}"
                return Difference(what, getattr(ending, name), getattr(outcome, name))
        if ending.failure is not ... and ending.failure != outcome.failure:
            return Difference(f"the failure of epoch {outcome.epoch}", ending.failure, outcome.failure)
        if outcome.past == current:
            return Difference(
                f"epoch {outcome.epoch}", "current" if current else "past", "past" if current else "current"
            )
    return None


def _shown(value: Any) -> str:
    if value is UNSET:
        return "absent"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004 — one line of a terminal or two
