"""A session at one moment: its children, what each has spent, and the totals of its lanes. For boards and programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from leasehold.pipelines.agents.child_budget import BudgetLane, LaneTotal, read_totals
from leasehold.pipelines.agents.child_workflow import ActiveChild
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.specs import ChildState, children_of
from leasehold.pipelines.agents.tokens import DispatchPhase


@dataclass(frozen=True, slots=True)
class ChildRow:
    """A child on a board. `line` is its last progress, without secrets; `code` why it failed."""

    child_id: str
    name: str
    phase: DispatchPhase
    tokens: int = 0
    solver_calls: int = 0
    seconds: int = 0
    line: str = ""
    code: str | None = None
    reason: str | None = None
    again_of: str | None = None
    is_cancelled: bool = False

    @property
    def status(self) -> str:
        """Return its phase, or how it ended."""
        if self.phase is not DispatchPhase.TERMINAL:
            return "cancelling" if self.is_cancelled else self.phase.value
        return "passed" if self.code is None else self.reason or "failed"


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """`waiting`: names of the plan that are not spawned yet."""

    parent_session_id: str
    rows: tuple[ChildRow, ...]
    lanes: Mapping[BudgetLane, LaneTotal]
    waiting: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return not self.waiting and all(row.phase is DispatchPhase.TERMINAL for row in self.rows)

    @property
    def final_rows(self) -> list[ChildRow]:
        """Return the children that were not spawned again. Several may have one name."""
        repeated = {row.again_of for row in self.rows}
        return [row for row in self.rows if row.child_id not in repeated]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many children have each status."""
        return dict(Counter(row.status for row in self.rows) + Counter({"waiting": len(self.waiting)}))


def read_snapshot(
    place: AgentsPlace,
    parent_session_id: str,
    active: Mapping[str, ActiveChild] | None = None,
    waiting: tuple[str, ...] = (),
) -> SessionSnapshot:
    """Read a session from the database; its coordinator also passes what only it knows of its active children."""
    named = {"parent_session_id": parent_session_id}
    states, spent_rows = place.records.read(
        lambda transaction: (
            list(children_of(transaction, parent_session_id)),
            transaction.run("child/spent", **named),
        )
    )
    spent: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for child_id, lane, amount in spent_rows:
        spent[child_id][lane] = amount
    known = active or {}
    rows = tuple(_row(state, spent[state.child_id], known.get(state.child_id)) for state in states)
    return SessionSnapshot(parent_session_id, rows, read_totals(place.records, parent_session_id), waiting)


def _row(state: ChildState, spent: Mapping[str, int], active: ActiveChild | None) -> ChildRow:
    return ChildRow(
        child_id=state.child_id,
        name=state.name,
        phase=state.phase,
        tokens=spent.get(BudgetLane.TOKENS, 0),
        solver_calls=spent.get(BudgetLane.SOLVER_CALLS, 0),
        seconds=spent.get(BudgetLane.DURATION_SECS, 0),
        line="" if active is None else active.line,
        code=state.code,
        reason=None if state.end is None else state.end.get("message", state.reason),
        again_of=state.again_of,
        is_cancelled=state.cancel_request_id is not None,
    )
