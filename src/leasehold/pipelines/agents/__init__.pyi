from leasehold.pipelines.agents.child_budget import BudgetLane, LaneTotal
from leasehold.pipelines.agents.coordinator.session import Session, SessionRequest, cancel, spawn, start_session
from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot, read_snapshot
from leasehold.pipelines.agents.errors import UrmError
from leasehold.pipelines.agents.place import AgentsPlace, open_place
from leasehold.pipelines.agents.plan.document import read_plan
from leasehold.pipelines.agents.plan.values import ChildBudget
from leasehold.pipelines.agents.sessions import SessionTerms
from leasehold.pipelines.agents.specs import ChildSpec

__all__ = [
    "AgentsPlace",
    "BudgetLane",
    "ChildBudget",
    "ChildRow",
    "ChildSpec",
    "LaneTotal",
    "Session",
    "SessionRequest",
    "SessionSnapshot",
    "SessionTerms",
    "UrmError",
    "cancel",
    "open_place",
    "read_plan",
    "read_snapshot",
    "spawn",
    "start_session",
]
