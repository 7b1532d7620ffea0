"""Runs a plan in a session: spawns each child when those it waits for have ended, and follows it to its end.

What is stored decides where a run goes on: a child that has ended is not spawned again, one that was lost only with
`again`. A child whose prerequisite failed is spawned and ended at once with `URM_CHILD_PREREQUISITE_FAILED`, so that
the record has it; a lost prerequisite holds its dependents back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Final

from leasehold.pipelines.agents.child.worktree import Repository
from leasehold.pipelines.agents.child_dispatch import Failed
from leasehold.pipelines.agents.coordinator.session import AgentSession
from leasehold.pipelines.agents.coordinator.snapshot import SessionSnapshot
from leasehold.pipelines.agents.errors import LOST, ChildCode
from leasehold.pipelines.agents.limits import SNAPSHOT_SECONDS
from leasehold.pipelines.agents.plan.values import AgentPlan, ChildPlan
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.specs import ChildSpec, ChildState
from leasehold.processes import Stop

ID_MAX: Final = 128
SNAPSHOT_SHARE: Final = 5  # at most a sixth of the time goes into snapshots
Show = Callable[[SessionSnapshot], None]


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """Where the children of a plan are."""

    waiting: tuple[str, ...]  # not spawned yet
    lost: tuple[str, ...]  # ended without having run to their end, and not spawned again
    open: tuple[str, ...]


def check_repositories(plan: AgentPlan) -> None:
    """Refuse a plan whose work trees cannot be made, before anything is started."""
    for folder in {child.folder for child in plan.children if child.worktree}:
        Repository.of(folder)


class PlanRun:
    """One run of a plan, in the thread that calls it."""

    def __init__(self, session: AgentSession, plan: AgentPlan) -> None:
        self._session = session
        self._plan = plan
        self._first_ids = {self._id(child.name): child.name for child in plan.children}
        self._states: dict[str, ChildState] = {}
        self._ids: set[str] = set()
        self.read()

    def read(self) -> PlanProgress:
        """Read where the children are, by the last one of each name of the plan."""
        states = self._session.children()
        self._ids = {*self._first_ids, *(state.child_id for state in states)}
        self._states = self._of_plan(states)
        known = [(child.name, self._states.get(child.name)) for child in self._plan.children]
        return PlanProgress(
            waiting=tuple(name for name, state in known if state is None),
            lost=tuple(name for name, state in known if state is not None and state.code in LOST),
            open=tuple(name for name, state in known if state is not None and not state.has_ended),
        )

    def _of_plan(self, states: list[ChildState]) -> dict[str, ChildState]:
        """Return the last child of each name. What others have spawned under such a name is not the plan's."""
        names, found = dict(self._first_ids), {}
        for state in states:
            if name := names.get(state.child_id) or names.get(state.again_of or ""):
                names[state.child_id] = name
                found[name] = state
        return found

    def spawn_lost(self) -> list[str]:
        """Spawn the children that were lost once more, as new ones that name those; return their names."""
        lost = self.read().lost
        for child in self._plan.children:
            if child.name in lost:
                self._spawn_ready(child, self._states[child.name].child_id)
        self.read()
        return list(lost)

    def run(self, stop: Stop, show: Show) -> PlanProgress:
        """Run until every child has ended, or somebody wants it to stop."""
        coordinator, show_at = self._session.coordinator, 0.0
        progress = self.advance()
        while stop.number is None:
            coordinator.step()
            if coordinator.is_idle or (coordinator.take_ended() and progress.waiting):
                progress = self.advance()
            if coordinator.is_idle and not progress.open:
                break
            if (began := time.monotonic()) >= show_at:
                show(self._session.snapshot(progress.waiting))
                show_at = time.monotonic() + max(SNAPSHOT_SECONDS, SNAPSHOT_SHARE * (time.monotonic() - began))
            coordinator.wait()
        progress = self.read()
        show(self._session.snapshot(progress.waiting))
        return progress

    def advance(self) -> PlanProgress:
        """Spawn what is ready, and what is ready then because a prerequisite failed."""
        self.read()
        while ready := self._ready():
            for child in ready:
                self._spawn_ready(child)
            self.read()
        return self.read()

    def _ready(self) -> list[ChildPlan]:
        """Return the children that were never spawned and whose prerequisites have all ended, none of them lost."""
        waiting = (child for child in self._plan.children if child.name not in self._states)
        return [child for child in waiting if all(self._has_ended(name) for name in child.after)]

    def _has_ended(self, name: str) -> bool:
        state = self._states.get(name)
        return state is not None and state.has_ended and state.code not in LOST

    def _failed_prerequisites(self, child: ChildPlan) -> list[str]:
        return [name for name in child.after if not self._states[name].has_passed]

    def _spawn_ready(self, child: ChildPlan, again_of: str | None = None) -> None:
        """Spawn a child whose prerequisites have ended; if one of them has failed, end it at once."""
        child_id = self._id(child.name) if again_of is None else self._next_id(child.name)
        self._ids.add(child_id)
        self._session.spawn(ChildSpec.of_plan(child), child_id, child_id=child_id, again_of=again_of)
        # crash here: spawned but not ended for its failed prerequisite
        if failed := self._failed_prerequisites(child):
            detail = {"name": child.name, "prerequisites": failed}
            self._session.fail(child_id, Failed("prerequisite_failed", ChildCode.PREREQUISITE_FAILED, detail))

    def _next_id(self, name: str) -> str:
        """Return an id that no child has, and none of the plan will have."""
        return next(found for number in count(len(self._ids)) if (found := self._id(name, number)) not in self._ids)

    def _id(self, name: str, number: int | None = None) -> str:
        """Return the id of a child, which is also that of its request: the same in every run of this plan."""
        session_id = self._session.parent_session_id
        found = f"{session_id}.{name}" if number is None else f"{session_id}.{name}.{number}"
        return found if len(found) <= ID_MAX else sha256_of({"session": session_id, "name": name, "number": number})
