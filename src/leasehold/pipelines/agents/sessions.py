"""Parent sessions: one row each, which holds the counters. Who changes anything of a session locks its row first."""

import re
from dataclasses import dataclass
from typing import Any, Final

from leasehold.pipelines.agents.errors import (
    AccountingModeInvalid,
    ConcurrencyCapInvalid,
    PhaseInvalid,
    RecoveryPending,
    SessionInactive,
    SessionInvalid,
    SessionUnknown,
)
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import RuntimeState

ACCOUNTING_MODE: Final = "running_total_v1"
CONTRACTS: Final = ("locked", "open")
LOCKED_ACTIVE_MAX: Final = 2
_name: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """What a session declares when it is opened first, and keeps. `has_stream`: its parent's stream is available."""

    parent_session_id: str
    contract: str = "locked"
    max_active_children: int = LOCKED_ACTIVE_MAX
    accounting_mode: str = ACCOUNTING_MODE
    has_stream: bool = True

    @property
    def parent_stream_id(self) -> str:
        return f"{'copilot' if self.has_stream else 'urm_audit'}:{self.parent_session_id}"

    def check(self) -> None:
        check_id(self.parent_session_id, "parent_session_id")
        if self.contract not in CONTRACTS:
            raise SessionInvalid(f"`contract` is one of {', '.join(CONTRACTS)}.", contract=self.contract)
        if self.accounting_mode != ACCOUNTING_MODE:
            raise AccountingModeInvalid(accounting_mode=self.accounting_mode)
        is_whole = type(self.max_active_children) is int and self.max_active_children >= 1
        if not is_whole or (self.contract == "locked" and self.max_active_children > LOCKED_ACTIVE_MAX):
            raise ConcurrencyCapInvalid(max_active_children=self.max_active_children, contract=self.contract)


@dataclass(frozen=True, slots=True)
class ParentSession:
    """A session's row. `recovery_ts`: when the recovery began that ends its children now."""

    parent_session_id: str
    parent_stream_id: str
    contract: str
    max_active_children: int
    accounting_mode: str
    coordinator: str | None
    recovery_ts: str | None
    queue_seq: int
    dispatch_seq: int

    def keeps(self, terms: SessionTerms) -> bool:
        mine = (self.parent_stream_id, self.contract, self.max_active_children, self.accounting_mode)
        return mine == (terms.parent_stream_id, terms.contract, terms.max_active_children, terms.accounting_mode)


def check_id(name: Any, field: str) -> str:
    """Return a name that is safe in a stream's name and in a file's."""
    if isinstance(name, str) and _name.match(name):
        return name
    raise SessionInvalid(f"This {field} is not.", field=field)


def open_session(state: RuntimeState, terms: SessionTerms) -> ParentSession:
    """Coordinate a session: a new one, or one that nobody coordinates, whose sequences continue."""
    return state.records.write(lambda transaction: open_within(transaction, state, terms))


def open_within(transaction: Transaction, state: RuntimeState, terms: SessionTerms) -> ParentSession:
    """Open a session in a transaction of the caller, who may store the answer to a request in it."""
    terms.check()
    check_recovered(state)
    name = {"parent_session_id": terms.parent_session_id, "coordinator": state.coordinator}
    declared = {"contract": terms.contract, "accounting_mode": terms.accounting_mode, "ts": state.now()}
    declared |= {"parent_stream_id": terms.parent_stream_id}
    transaction.run("session/insert", **name, **declared, max_active_children=terms.max_active_children)
    session = lock(transaction, terms.parent_session_id)
    if not session.keeps(terms):
        raise SessionInvalid("It exists with another contract.", parent_session_id=session.parent_session_id)
    if session.coordinator is None:
        transaction.run("session/take", **name)
    elif session.coordinator != state.coordinator:
        raise SessionInactive("Another coordinator has it.", parent_session_id=session.parent_session_id)
    return lock(transaction, terms.parent_session_id)


def close_session(state: RuntimeState, parent_session_id: str) -> None:
    """Leave a session whose children have all ended."""
    state.records.write(lambda transaction: close_within(transaction, state, parent_session_id))


def close_within(transaction: Transaction, state: RuntimeState, parent_session_id: str) -> None:
    """Leave a session in a transaction of the caller."""
    lock_own(transaction, state, parent_session_id)
    if transaction.run("token/open", parent_session_id=parent_session_id, rows_max=1):
        raise PhaseInvalid("A child has not ended.", parent_session_id=parent_session_id)
    transaction.run("session/release", parent_session_id=parent_session_id)


def lock(transaction: Transaction, parent_session_id: str) -> ParentSession:
    """Lock a session's row until the transaction ends."""
    return read_session(transaction, parent_session_id, "session/lock")


def read_session(transaction: Transaction, parent_session_id: str, how: str = "session/find") -> ParentSession:
    if rows := transaction.run(how, parent_session_id=parent_session_id):
        return ParentSession(*rows[0])
    raise SessionUnknown(parent_session_id=parent_session_id)


def lock_own(transaction: Transaction, state: RuntimeState, parent_session_id: str) -> ParentSession:
    """Lock a session that this coordinator has. One that was taken for gone cannot go on with its children."""
    session = lock(transaction, parent_session_id)
    check_active(session)
    if session.coordinator != state.coordinator:
        raise SessionInactive("Another coordinator has it.", parent_session_id=parent_session_id)
    return session


def check_active(session: ParentSession) -> None:
    """Refuse a session that has no coordinator, or whose children a recovery ends now."""
    if session.recovery_ts is not None:
        raise RecoveryPending(parent_session_id=session.parent_session_id)
    if session.coordinator is None:
        raise SessionInactive(parent_session_id=session.parent_session_id)


def check_recovered(state: RuntimeState) -> None:
    """Refuse what must wait until the children of coordinators that are gone have been ended."""
    if not state.recovered.is_set():
        raise RecoveryPending
