"""Dispatch tokens: one row a child, its phase, and the projection `scheduler_dispatch_token@1` of it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, Self

from leasehold.canonical import encode
from leasehold.pipelines.agents.errors import ChildUnknown
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction

SCHEMA: Final = "scheduler_dispatch_token@1"


class DispatchPhase(StrEnum):
    QUEUED = "queued"
    LEASED = "leased"
    STARTED = "started"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Token:
    """A child's place in the order. It has a `dispatch_seq` and a `worker_run_id` once it was leased."""

    child_id: str
    parent_session_id: str
    parent_stream_id: str
    parent_seq: int
    queue_seq: int
    dispatch_seq: int | None
    worker_run_id: str | None
    phase: DispatchPhase
    cancel_request_id: str | None

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Self:
        found = cls(*row)
        return replace(found, phase=DispatchPhase(found.phase))

    @property
    def lease_id(self) -> str | None:
        """The lease is identified by the run of its worker."""
        return self.worker_run_id

    @property
    def stream_id(self) -> str:
        return f"child:{self.child_id}"

    def plain(self) -> dict[str, Any]:
        """Return the projection; fields that the token does not have yet are left out."""
        found = {"schema": SCHEMA, **asdict(self), "phase": self.phase.value, "lease_id": self.lease_id}
        return {name: value for name, value in found.items() if value is not None}


def find(transaction: Transaction, child_id: str) -> Token:
    if rows := transaction.run("token/find", child_id=child_id):
        return Token.of(rows[0])
    raise ChildUnknown(child_id=child_id)


def tokens_of(transaction: Transaction, parent_session_id: str) -> Iterator[Token]:
    """Yield a session's tokens in the order of its queue."""
    return map(Token.of, transaction.pages("token/page", 4, 0, parent_session_id=parent_session_id))


def replay_order(token: Token) -> tuple[bool, int, int]:
    """Sort by `dispatch_seq`; what was never dispatched comes last, in the order of the queue."""
    return token.dispatch_seq is None, token.dispatch_seq or 0, token.queue_seq


def export_tokens(records: AgentRecords, parent_session_id: str) -> str:
    """Return a session's tokens as lines of canonical JSON, in the order in which they were dispatched."""
    found = records.read(lambda transaction: list(tokens_of(transaction, parent_session_id)))
    return "".join(f"{encode(token.plain())}\n" for token in sorted(found, key=replay_order))
