"""What happened to the children of a session, put together from events alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from leasehold.canonical import encode
from leasehold.pipelines.agents.event_reports.reading import ReadEvent
from leasehold.pipelines.agents.tokens import DispatchPhase, Token, replay_order

# The phase after an event, by its letter. A lease is no event: a child that is leased is known as such by its cancel.
PHASE_AFTER: Final = {"S": DispatchPhase.STARTED, "F": DispatchPhase.TERMINAL, "P": DispatchPhase.TERMINAL}


@dataclass(frozen=True, slots=True)
class ChildHistory:
    """A child's events. `own`: those of its stream; `mirrors`: those that its parent's stream has of it."""

    child_id: str
    calls: list[ReadEvent] = field(default_factory=list)
    own: list[ReadEvent] = field(default_factory=list)
    mirrors: list[ReadEvent] = field(default_factory=list)

    @property
    def events(self) -> list[ReadEvent]:
        """Return its worker events, from the stream that has more of them."""
        return max(self.own, self.mirrors, key=len)

    @property
    def end(self) -> ReadEvent | None:
        return next((event for event in reversed(self.events) if event.letter in ("F", "P")), None)

    @property
    def is_dispatched(self) -> bool:
        return any("dispatch_seq" in event.detail for event in self.events)

    @property
    def is_cancelled(self) -> bool:
        return any(event.letter == "C" for event in self.events)

    def token(self) -> Token:
        """Return the dispatch token that these events lead to."""
        call, phase = self.calls[0], DispatchPhase.QUEUED
        found: dict[str, object] = {}
        for event in self.events:
            found |= event.detail
            phase = PHASE_AFTER.get(event.letter, DispatchPhase(event.detail["phase_at_event"]))
        dispatch_seq, lease_id, cancel = (found.get(name) for name in ("dispatch_seq", "lease_id", "cancel_request_id"))
        row = (self.child_id, call.session_id, call.place.stream_id, call.seq, call.detail["queue_seq"])
        return Token.of((*row, dispatch_seq, lease_id, phase, cancel))


@dataclass(frozen=True, slots=True)
class SessionHistory:
    """A session's children, in the order in which they were first seen, and how many events of each name there are."""

    session_id: str
    children: dict[str, ChildHistory] = field(default_factory=dict)

    def child(self, child_id: str) -> ChildHistory:
        return self.children.setdefault(child_id, ChildHistory(child_id))

    def add(self, event: ReadEvent) -> None:
        child = self.child(event.child_id)
        home = child.mirrors if event.is_mirror else child.own if event.letter else child.calls
        home.append(event)


def sessions_of(events: Iterable[ReadEvent]) -> dict[str, SessionHistory]:
    """Sort events by session and child."""
    found: dict[str, SessionHistory] = {}
    for event in events:
        session = found.setdefault(event.session_id, SessionHistory(event.session_id))
        if event.letter or event.is_spawn:
            session.add(event)
    return found


def replayed(sessions: Iterable[SessionHistory]) -> Iterator[str]:
    """Yield the dispatch tokens of sessions as lines, in the order of dispatch: what `export_tokens` wrote of them."""
    for session in sorted(sessions, key=lambda session: session.session_id):
        for token in sorted((child.token() for child in session.children.values()), key=replay_order):
            yield f"{encode(token.plain())}\n"
