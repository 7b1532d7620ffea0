"""Events `urm-events@1`: canonical JSON, appended to a stream in the transaction of the change that they report.

Streams: `copilot:<session>` is the parent's (`urm_audit:<session>` where it has none), `child:<child>` a child's. A
child's worker events are appended to its own stream and mirrored on its parent's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
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
    """What is written of a moment; the stream gives it a sequence number."""

    name: EventName
    ts: str
    parent_session_id: str
    child_id: str
    context: Mapping[str, str]
    detail: Mapping[str, Any]


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
    transaction: Transaction, state: RuntimeState, stream_id: str, event: UrmEvent, *, is_mirror: bool = False
) -> int:
    """Append an event to a stream; return its sequence number."""
    named = {"stream_id": stream_id, "parent_session_id": event.parent_session_id}
    seq = int(transaction.run("stream/next_seq", **named)[0][0])
    body = encode(
        {
            "schema": SCHEMA,
            "event": event.name.value,
            "stream_id": stream_id,
            "seq": seq,
            "ts": event.ts,
            "source": asdict(state.source),
            "context": dict(event.context),
            "detail": dict(event.detail),
        }
    )
    row = {"seq": seq, "child_id": event.child_id, "event": event.name.value, "is_mirror": int(is_mirror)}
    transaction.run("event/insert", **named, **row, body=body)
    return seq


def append_worker(
    transaction: Transaction,
    state: RuntimeState,
    name: EventName,
    token: Token,
    ts: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Append a worker event to its child's stream, and mirror it on the parent's."""
    context = present(session_id=token.parent_session_id, run_id=token.worker_run_id, role="worker")
    found = {**(detail or {}), **worker_detail(token)}
    event = UrmEvent(name, ts, token.parent_session_id, token.child_id, context, found)
    append(transaction, state, token.stream_id, event)
    append(transaction, state, token.parent_stream_id, event, is_mirror=True)


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
