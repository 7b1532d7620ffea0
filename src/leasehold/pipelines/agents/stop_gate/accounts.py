"""What the children of a fixture spend, each under a lease of its own job, as the children of a coordinator do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from leasehold import Held
from leasehold.pipelines.agents.child_budget import BudgetLane, ChildAccount, read_totals
from leasehold.pipelines.agents.coordinator.engine_jobs import SessionLease, hold_session
from leasehold.pipelines.agents.events import present
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.records.records import Transaction

FOLDER: Final = "."


class FixtureAccounts:
    """A session's job, leased by its coordinators, and the accounts of its children. Without a budget: none."""

    def __init__(self, place: AgentsPlace, session_id: str, budget: ChildBudget | None) -> None:
        self._place = place
        self._session_id = session_id
        self._budget = budget
        self._leases: dict[str, SessionLease] = {}
        self._held: dict[str, Held] = {}
        self._accounts: dict[str, ChildAccount] = {}

    def begin(self, coordinator: str, child_id: str) -> Callable[[Transaction], object]:
        """Hold a child's job; return what notes it in the transaction of the start."""
        if self._budget is None:
            return lambda _: None
        held = self._lease(coordinator, self._budget).hold_child(child_id, child_id)
        self._held[child_id], self._accounts[child_id] = held, ChildAccount(held)
        return lambda transaction: transaction.run("child/assign", child_id=child_id, job_id=held.job_id)

    def debit(self, child_id: str, lane: BudgetLane, amount: int) -> bool:
        return self._accounts[child_id].debit(lane, amount)

    def refused(self, child_id: str) -> dict[str, Any]:
        """Return the debit that ended a child, for the detail of its end."""
        account = self._accounts.get(child_id)
        return {"refused": account.refused.plain()} if account and account.refused else {}

    def end(self, child_id: str) -> None:
        """End a child's job: whatever it would spend from now on is refused."""
        if child_id in self._held:
            self._held.pop(child_id).done()

    def leave(self, coordinator: str) -> None:
        """Give back the lease of a coordinator that is gone, as the engine does when its process is."""
        if coordinator in self._leases:
            self._leases.pop(coordinator).held.release()

    def totals(self) -> list[dict[str, Any]]:
        """Return what the session has spent by lane, and then what each child has."""
        totals = read_totals(self._place.records, self._session_id).items()
        lanes = [
            {"budget_lane": lane.value, "spent_total": total.spent, **present(limit_total=total.limit)}
            for lane, total in sorted(totals)
        ]
        named = {"parent_session_id": self._session_id}
        rows = self._place.records.read(lambda transaction: transaction.run("child/spent", **named))
        children = [
            {"child_id": child_id, "budget_lane": lane, "spent": spent} for child_id, lane, spent in sorted(rows)
        ]
        return lanes + children

    def _lease(self, coordinator: str, budget: ChildBudget) -> SessionLease:
        if coordinator not in self._leases:
            self._leases[coordinator] = hold_session(self._place.app, self._session_id, FOLDER, budget)
        return self._leases[coordinator]
