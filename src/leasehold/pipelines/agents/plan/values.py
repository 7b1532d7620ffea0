"""A plan as the coordinator uses it: frozen, checked, with every default filled in."""

from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from leasehold.pipelines.agents.limits import ACTIVE_CHILDREN_MAX


class ChildBudget(Struct, frozen=True):
    """What may be spent in each lane; None: a lane without a limit."""

    tokens: int | None = None
    solver_calls: int | None = None
    duration_secs: int | None = None

    def plain(self) -> dict[str, int]:
        """Return the lanes that have a limit."""
        limits = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: limit for name, limit in limits.items() if limit is not None}


class SessionPlan(Struct, frozen=True):
    """The session: `id` is the parent_session_id, None if one is to be made."""

    id: str | None = None
    contract: str = "locked"
    max_active_children: int = ACTIVE_CHILDREN_MAX
    budget: ChildBudget = ChildBudget()


class ChildPlan(Struct, frozen=True):
    """One child. `folder` is absolute and real; an `input` that is not set is another thing than a null."""

    name: str
    command: tuple[str, ...]
    folder: Path
    input: Any | UnsetType = UNSET
    after: tuple[str, ...] = ()
    timeout: float | None = None
    worktree: bool = False
    env: tuple[str, ...] = ()
    line: int = 0


class AgentPlan(Struct, frozen=True):
    """A session and its children, in the order of the file."""

    path: Path
    session: SessionPlan
    children: tuple[ChildPlan, ...]
