"""Checks of the order of events: of a session's queue, and of each child from its spawn to its end."""

from collections.abc import Iterator
from itertools import pairwise, zip_longest
from typing import Any, Final

from leasehold.pipelines.agents.event_reports.histories import ChildHistory, SessionHistory
from leasehold.pipelines.agents.event_reports.issues import EventIssue, EventIssueCode
from leasehold.pipelines.agents.event_reports.reading import ReadEvent
from leasehold.pipelines.agents.verify import HISTORIES, PHASE_OF

LEASE: Final = ("dispatch_seq", "lease_id")


def check_session(session: SessionHistory) -> Iterator[EventIssue]:
    """Yield what is wrong with the order of a session's events."""
    for child in session.children.values():
        yield from _check_child(child)
    spawned = [child for child in session.children.values() if child.calls]
    yield from _check_queue(spawned)
    yield from _check_leases(spawned)


def _check_child(child: ChildHistory) -> Iterator[EventIssue]:
    if len(child.calls) != 1:
        message = f"Child {child.child_id} was spawned {len(child.calls)} times on its parent's stream."
        yield _order_issue(message, (child.calls[1:] or child.events)[0])
        return
    yield from _check_streams(child)
    yield from _check_mirrors(child)
    letters = ""
    for event in child.events:
        letters += event.letter
        if not any(pattern.match(letters) for pattern in HISTORIES.values()):
            yield _phase_issue(f"{event.name} cannot come here in the life of child {child.child_id}.", event)
            return
    yield from _check_details(child)


def _check_streams(child: ChildHistory) -> Iterator[EventIssue]:
    """Check that its events are on its own stream and, after its spawn, on its parent's."""
    call = child.calls[0]
    for event in child.own:
        if event.place.stream_id != f"child:{child.child_id}":
            yield _order_issue(f"It is an event of child {child.child_id}.", event)
    for event in child.mirrors:
        if event.place.stream_id != call.place.stream_id or event.seq < call.seq:
            yield _order_issue(f"Child {child.child_id} was not spawned before, on this stream.", event)


def _check_mirrors(child: ChildHistory) -> Iterator[EventIssue]:
    """Check that both streams have the same events of a child; one that is behind is incomplete."""
    parent = child.calls[0].place
    for own, mirror in zip_longest(child.own, child.mirrors):
        if own is None:
            yield _incomplete(f"child:{child.child_id}", mirror)
            return
        if mirror is None:
            yield _incomplete(parent.stream_id, own)
            return
        if own.copy_hash != mirror.copy_hash:
            yield _order_issue(f"{mirror.place} has another event instead.", own)
            return


def _check_details(child: ChildHistory) -> Iterator[EventIssue]:
    """Check that each event repeats the anchors of its spawn and lease, its phase, and the cancel that caused it."""
    call = child.calls[0]
    expected: dict[str, Any] = {"parent_stream_id": call.place.stream_id, "parent_seq": call.seq}
    expected["queue_seq"] = call.detail["queue_seq"]
    cancelled: str | None = None
    for event in child.events:
        wrong = [name for name, value in expected.items() if event.detail.get(name) != value]
        expected |= {name: event.detail[name] for name in LEASE if name in event.detail}
        cancelled = event.detail.get("cancel_request_id") if event.letter == "C" else cancelled
        if event.detail.get("cancel_request_id") != (cancelled if event.letter in "CF" else None):
            wrong.append("cancel_request_id")
        phase = event.detail["phase_at_event"]
        if phase != PHASE_OF.get(event.letter, phase):
            wrong.append("phase_at_event")
        if wrong:
            yield _phase_issue(f"Its {' and '.join(wrong)} cannot be.", event)


def _check_queue(spawned: list[ChildHistory]) -> Iterator[EventIssue]:
    """Check that the queue counts upwards, and was served in its order."""
    calls = sorted((child.calls[0] for child in spawned), key=lambda call: call.seq)
    for one, other in pairwise(calls):
        if one.detail["queue_seq"] >= other.detail["queue_seq"]:
            yield _order_issue("Its queue_seq is not larger than that of the spawn before.", other)
    tokens = sorted((child.token() for child in spawned), key=lambda token: token.queue_seq)
    dispatched = [(token.dispatch_seq, token.child_id) for token in tokens if token.dispatch_seq is not None]
    first = {child.child_id: child.events[0] for child in spawned if child.events}
    for (one_seq, _), (seq, child_id) in pairwise(dispatched):
        if one_seq >= seq:
            yield _order_issue("A child that was spawned earlier was dispatched later.", first[child_id])


def _check_leases(spawned: list[ChildHistory]) -> Iterator[EventIssue]:
    """Check that no two children had one lease."""
    holders: dict[str, str] = {}
    for child in spawned:
        for event in child.events:
            lease_id = event.detail.get("lease_id")
            if lease_id is not None and holders.setdefault(lease_id, child.child_id) != child.child_id:
                yield _order_issue(f"Its lease is that of child {holders[lease_id]}.", event)


def _incomplete(stream_id: str, event: ReadEvent) -> EventIssue:
    message = f"Stream {stream_id} does not have this {event.name}; make its file again from the database."
    return EventIssue(EventIssueCode.STREAM_INCOMPLETE, message, event.place)


def _order_issue(message: str, event: ReadEvent) -> EventIssue:
    return EventIssue(EventIssueCode.ORDER_INVALID, message, event.place)


def _phase_issue(message: str, event: ReadEvent) -> EventIssue:
    return EventIssue(EventIssueCode.PHASE_INVALID, message, event.place)
