"""Work trees of children that were lost: what they had changed is kept as their diff before the tree is removed."""

from __future__ import annotations

import logging
from pathlib import Path

from leasehold import LeaseholdError
from leasehold.pipelines.agents.child.worktree import Repository
from leasehold.pipelines.agents.child_workflow import DIFF
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.specs import children_of, find_child

LOG = logging.getLogger("leasehold.agents")


def keep_lost_diffs(place: AgentsPlace, parent_session_id: str) -> list[Path]:
    """Keep the diff of each work tree whose child has ended, and remove the tree; return the diffs.

    A tree whose diff cannot be made stays where it is.
    """
    root = place.worktrees(parent_session_id)
    if not root.is_dir():
        return []
    states = place.records.read(lambda transaction: list(children_of(transaction, parent_session_id)))
    kept = []
    for child_id in [state.child_id for state in states if state.has_ended and (root / state.child_id).is_dir()]:
        try:
            kept.append(_keep(place, parent_session_id, child_id))
        except (LeaseholdError, OSError) as error:
            LOG.warning("the work tree of %s stays in %s: %s", child_id, root, error)
    return kept


def _keep(place: AgentsPlace, parent_session_id: str, child_id: str) -> Path:
    child = place.records.read(lambda transaction: find_child(transaction, child_id))
    worktree = Repository.of(Path(child.spec.folder)).find(place.worktrees(parent_session_id) / child_id)
    diff = worktree.collect(place.child_home(parent_session_id, child_id) / DIFF)
    # crash here: a diff that was kept but not its work tree removed
    worktree.remove()
    return diff.path
