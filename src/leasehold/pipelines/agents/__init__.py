"""Child processes under one parent: a plan names them, budgets bound them, evidence keeps what they printed.

from pathlib import Path
from leasehold.pipelines import agents

with agents.open_place(Path(".")) as place, agents.start_session(place, request) as session: ...
"""

from leasehold.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "child_budget": ["BudgetLane", "LaneTotal"],
        "coordinator.session": ["Session", "SessionRequest", "cancel", "spawn", "start_session"],
        "coordinator.snapshot": ["ChildRow", "SessionSnapshot", "read_snapshot"],
        "errors": ["UrmError"],
        "place": ["AgentsPlace", "open_place"],
        "plan.document": ["read_plan"],
        "plan.values": ["ChildBudget"],
        "sessions": ["SessionTerms"],
        "specs": ["ChildSpec"],
    },
)
