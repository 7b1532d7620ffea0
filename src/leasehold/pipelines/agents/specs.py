"""What children are to do: stored with their spawn, in the same transaction, so that any coordinator can run them."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, to_builtins

from leasehold.canonical import decode, encode
from leasehold.pipelines.agents.errors import ChildUnknown
from leasehold.pipelines.agents.limits import SPEC_BYTES_MAX
from leasehold.pipelines.agents.plan.values import ChildPlan
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.tokens import DispatchPhase, Token
from leasehold.shapes import Shape


class ChildSpec(Struct, frozen=True, omit_defaults=True):
    """One child: a command, never a shell line. `folder` is absolute; `after` is on record only."""

    name: str
    command: tuple[str, ...]
    folder: str
    input: Any | UnsetType = UNSET
    timeout: float | None = None
    worktree: bool = False
    env: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @classmethod
    def of_plan(cls, child: ChildPlan) -> "ChildSpec":
        return cls(
            name=child.name,
            command=child.command,
            folder=str(child.folder),
            input=child.input,
            timeout=child.timeout,
            worktree=child.worktree,
            env=child.env,
            after=child.after,
        )

    @property
    def has_input(self) -> bool:
        """Whether it is sent a first line; else it finds its standard input closed."""
        return self.input is not UNSET

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields; those that were left out are absent."""
        found: dict[str, Any] = to_builtins(self)
        return found


_spec: Final = Shape[ChildSpec](ChildSpec)


class StoredChild(Struct, frozen=True):
    """A child's row. `job_id`: the engine's job that spends for it; None before it was dispatched."""

    child_id: str
    parent_session_id: str
    queue_seq: int
    name: str
    spec: ChildSpec
    again_of: str | None
    job_id: int | None


class ChildState(Struct, frozen=True):
    """Where a child is: its phase, and the detail of the event that ended it. What it is to do is read alone."""

    child_id: str
    queue_seq: int
    name: str
    again_of: str | None
    job_id: int | None
    phase: DispatchPhase
    cancel_request_id: str | None
    end: dict[str, Any] | None

    @property
    def has_ended(self) -> bool:
        return self.phase is DispatchPhase.TERMINAL

    @property
    def code(self) -> str | None:
        """Why it failed; None while it has not."""
        return None if self.end is None else self.end.get("code")

    @property
    def reason(self) -> str | None:
        return None if self.end is None else self.end.get("reason")

    @property
    def has_passed(self) -> bool:
        return self.has_ended and self.code is None


def store_spec(transaction: Transaction, token: Token, spec: ChildSpec, again_of: str | None) -> None:
    """Store what a child is to do, in the transaction of its spawn."""
    place = {"parent_session_id": token.parent_session_id, "queue_seq": token.queue_seq}
    text = encode(spec.plain(), limit=SPEC_BYTES_MAX)
    transaction.run("child/insert", child_id=token.child_id, **place, name=spec.name, spec=text, again_of=again_of)


def find_child(transaction: Transaction, child_id: str) -> StoredChild:
    for row in transaction.run("child/find", child_id=child_id):
        return StoredChild(row[0], row[1], row[2], row[3], _spec.decode(row[4]), row[5], row[6])
    raise ChildUnknown(child_id=child_id)


def children_of(transaction: Transaction, parent_session_id: str) -> Iterator[ChildState]:
    """Yield a session's children in the order of the queue."""
    named = {"parent_session_id": parent_session_id}
    for row in transaction.pages("child/page", 1, 0, **named):
        *_, phase, cancel_request_id, body = row
        end = None if body is None else decode(body)["detail"]
        yield ChildState(row[0], row[1], row[2], row[3], row[4], DispatchPhase(phase), cancel_request_id, end)
