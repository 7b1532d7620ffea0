"""Recovery: the children of coordinators that are gone are ended, in the order of their dispatch, and never repeated.

A recovery stores its time in the session before its first event. One that is killed and run again goes on with that
time from the first child that has not ended, so it leaves the same bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.agents.child_dispatch import Failed, end_children_unlocked
from leasehold.pipelines.agents.errors import ChildCode
from leasehold.pipelines.agents.records.limits import RECOVERY_BATCH
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.sessions import lock
from leasehold.pipelines.agents.tokens import DispatchPhase, Token

IsGone = Callable[[str], bool]
ORPHANED: Final = Failed("lease_orphaned", ChildCode.LEASE_ORPHANED)
TERMINATED: Final = Failed("terminated_on_restart", ChildCode.TERMINATED_ON_RESTART)


@dataclass(frozen=True, slots=True)
class RecoveredChild:
    """A child that a recovery ended, and why."""

    token: Token
    failed: Failed


def recover(state: RuntimeState, is_gone: IsGone) -> list[RecoveredChild]:
    """End the children of every coordinator that is gone; spawns and leases are accepted after that.

    `is_gone` must be certain: the sessions of coordinators that it does not name are left alone.
    """
    ended = _recover_stale_child_runs(state, is_gone)
    state.recovered.set()
    return ended


def _recover_stale_child_runs(state: RuntimeState, is_gone: IsGone) -> list[RecoveredChild]:
    coordinated = state.records.read(lambda transaction: transaction.run("session/coordinated"))
    gone = {name for name in {coordinator for _, coordinator in coordinated} if name != state.coordinator}
    gone = {name for name in gone if is_gone(name)}
    ended: list[RecoveredChild] = []
    for parent_session_id, coordinator in coordinated:
        if coordinator in gone:
            ended += _recover_session(state, parent_session_id, coordinator)
    return ended


def _recover_session(state: RuntimeState, parent_session_id: str, coordinator: str) -> list[RecoveredChild]:
    """End a session's children, some in each transaction, until none is left."""
    ended: list[RecoveredChild] = []

    def work(transaction: Transaction) -> list[RecoveredChild]:
        return _recover_batch(transaction, state, parent_session_id, coordinator)

    while batch := state.records.write(work):
        # crash here: a batch that was ended but not the session
        ended += batch
    return ended


def _recover_batch(
    transaction: Transaction, state: RuntimeState, parent_session_id: str, coordinator: str
) -> list[RecoveredChild]:
    """End the next children of a session; with none left, leave it without a coordinator."""
    parent = {"parent_session_id": parent_session_id}
    if lock(transaction, parent_session_id).coordinator != coordinator:
        return []  # another process recovered it meanwhile
    ts = str(transaction.run("session/begin_recovery", **parent, ts=state.now())[0][0])
    stale = [Token.of(row) for row in transaction.run("token/open", **parent, rows_max=RECOVERY_BATCH)]
    if not stale:
        transaction.run("session/release", **parent)
        return []
    ends = [(token, _failure_of(token)) for token in stale]
    ended = end_children_unlocked(transaction, state, ends, ts)
    return [RecoveredChild(token, failed) for token, (_, failed) in zip(ended, ends, strict=True)]


def _failure_of(token: Token) -> Failed:
    """Return why a child ends. Whether it started is decided by its phase alone."""
    return TERMINATED if token.phase is DispatchPhase.STARTED else ORPHANED
