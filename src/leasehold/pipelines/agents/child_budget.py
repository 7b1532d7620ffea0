"""Budgets of a session: running totals that every child spends from, never past a limit.

The totals are the engine's budgets of the session's job (`running_total_v1`): a debit is checked and added by one
statement under that job, so of debits at the same time those that are committed first are accepted, and the first that
would pass the limit is refused. The snapshot that a child gets of its budget can raise nothing.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from leasehold import Budget, BudgetExceeded, Held
from leasehold.pipelines.agents.errors import AccountingModeInvalid, SessionInvalid
from leasehold.pipelines.agents.limits import BUDGET_MAX
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.records.records import AgentRecords

SNAPSHOT_SCHEMA: Final = "budget.v1"
NO_LIMIT: Final = BUDGET_MAX


class BudgetLane(StrEnum):
    SOLVER_CALLS = "solver_calls"
    DURATION_SECS = "duration_secs"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class LaneTotal:
    """What a session may spend in a lane, and has spent."""

    limit: int | None
    spent: int

    @property
    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.spent


@dataclass(frozen=True, slots=True)
class RefusedDebit:
    """The debit that would have passed a limit."""

    lane: BudgetLane
    amount: int

    def plain(self) -> dict[str, Any]:
        return {"budget_lane": self.lane.value, "amount": self.amount}


def limits_of(budget: ChildBudget) -> dict[str, int]:
    """Return the limit of every lane: one without a limit is counted too."""
    return {lane.value: NO_LIMIT for lane in BudgetLane} | budget.plain()


def check_totals(stored: Mapping[str, Budget], budget: ChildBudget) -> None:
    """Refuse a session that is accounted in another way, or opened again with another budget."""
    if set(stored) != {lane.value for lane in BudgetLane}:
        raise AccountingModeInvalid("Its job has other lanes.", lanes=sorted(stored))
    limits = {lane: total.limit for lane, total in stored.items()}
    if limits != limits_of(budget):
        raise SessionInvalid("It exists with another budget.", budget={k: v for k, v in limits.items() if v < NO_LIMIT})


def read_totals(records: AgentRecords, parent_session_id: str) -> dict[BudgetLane, LaneTotal]:
    """Return the running totals of a session, by lane."""
    rows = records.read(lambda transaction: transaction.run("budget/totals", parent_session_id=parent_session_id))
    return {BudgetLane(lane): LaneTotal(None if most >= NO_LIMIT else most, spent) for lane, most, spent in rows}


def snapshot_of(totals: Mapping[BudgetLane, LaneTotal]) -> dict[str, Any]:
    """Return the snapshot that a child gets when it starts: how much was left then, of the lanes that have a limit."""
    left = {lane.value: total.left for lane, total in totals.items() if total.left is not None}
    return {"schema": SNAPSHOT_SCHEMA, **left}


class ChildAccount:
    """What one child spends, under its lease. Threads may share it."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._lock = threading.Lock()
        self.spent: Counter[BudgetLane] = Counter()
        self.refused: RefusedDebit | None = None

    def debit(self, lane: BudgetLane, amount: int) -> bool:
        """Add to a lane's total; False, and nothing is added, if that would pass its limit."""
        try:
            self._held.task.spend(lane.value, amount)
        except BudgetExceeded:
            with self._lock:
                self.refused = self.refused or RefusedDebit(lane, amount)
            return False
        # crash here: debited but not counted by its coordinator
        with self._lock:
            self.spent[lane] += amount
        return True
