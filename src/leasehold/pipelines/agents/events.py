"""Events `urm-events@1`: canonical JSON, appended to a stream in the transaction of the change that they report.

Streams: `copilot:<session>` is the parent's (`urm_audit:<session>` where it has none), `child:<child>` a child's. A
child's worker events are appended to its own stream and mirrored on its parent's.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from leasehold.canonical import encode
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.tokens import Token

SCHEMA: Final = "urm-events@1"
SPAWN: Final = "urm.agent.spawn"
CANCEL: Final = "urm.agent.cancel"


class EventName(StrEnum):
    TOOL_CALL_START = "TOOL_CALL_START"
    WORKER_START = "WORKER_START"
    WORKER_CANCEL = "WORKER_CANCEL"
    WORKER_FAIL = "WORKER_FAIL"
    WORKER_PASS = "WORKER_PASS"  # noqa: S105


ENDS: Final = (EventName.WORKER_FAIL, EventName.WORKER_PASS)


@dataclass(frozen=True, slots=True)
class UrmEvent:
    """What is written of a moment; its stream gives it a sequence number."""

    stream_id: str
    name: EventName
    ts: str
    child_id: str
    context: Mapping[str, str]
    detail: Mapping[str, Any]
    is_mirror: bool = False


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A row. `body` is the line of its stream's file."""

    seq: int
    parent_session_id: str
    child_id: str | None
    event: str
    is_mirror: bool
    body: str


def append(
    transaction: Transaction, state: RuntimeState, parent_session_id: str, events: Sequence[UrmEvent]
) -> list[int]:
    """Append events of one session to their streams, in order; return their sequence numbers.

    Two statements, however many there are. The bodies were checked one by one, so the list is not checked again.
    """
    counts = Counter(event.stream_id for event in events)
    streams = json.dumps([{"stream_id": stream_id, "count": count} for stream_id, count in counts.items()])
    last: dict[str, int] = dict(transaction.run("stream/reserve", parent_session_id=parent_session_id, streams=streams))
    free = {stream_id: itertools.count(last[stream_id] - count + 1) for stream_id, count in counts.items()}
    seqs = [next(free[event.stream_id]) for event in events]
    rows = [_row(state, event, seq) for event, seq in zip(events, seqs, strict=True)]
    transaction.run("event/insert", parent_session_id=parent_session_id, events=json.dumps(rows, ensure_ascii=False))
    return seqs


def _row(state: RuntimeState, event: UrmEvent, seq: int) -> dict[str, Any]:
    body = {
        "schema": SCHEMA,
        "event": event.name.value,
        "stream_id": event.stream_id,
        "seq": seq,
        "ts": event.ts,
        "source": asdict(state.source),
        "context": dict(event.context),
        "detail": dict(event.detail),
    }
    return {
        "stream_id": event.stream_id,
        "seq": seq,
        "child_id": event.child_id,
        "event": event.name.value,
        "is_mirror": int(event.is_mirror),
        "body": encode(body),
    }


def worker_events(
    name: EventName, token: Token, ts: str, detail: Mapping[str, Any] | None = None
) -> tuple[UrmEvent, UrmEvent]:
    """Return a worker event for its child's stream, and its mirror for the parent's."""
    context = present(session_id=token.parent_session_id, run_id=token.worker_run_id, role="worker")
    own = UrmEvent(token.stream_id, name, ts, token.child_id, context, {**(detail or {}), **worker_detail(token)})
    return own, replace(own, stream_id=token.parent_stream_id, is_mirror=True)


def worker_detail(token: Token) -> dict[str, Any]:
    """Return what every worker event holds; a child that was never dispatched has no lease to name."""
    return present(
        dispatch_seq=token.dispatch_seq,
        lease_id=token.lease_id,
        parent_stream_id=token.parent_stream_id,
        parent_seq=token.parent_seq,
        queue_seq=token.queue_seq,
        child_id=token.child_id,
        phase_at_event=token.phase.value,
    )


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def events_of(transaction: Transaction, stream_id: str, after: int = 0) -> Iterator[StoredEvent]:
    """Yield a stream's events after a sequence number."""
    for seq, parent_session_id, child_id, event, is_mirror, body in transaction.pages(
        "event/page", 0, after, stream_id=stream_id
    ):
        yield StoredEvent(seq, parent_session_id, child_id, event, bool(is_mirror), body)
