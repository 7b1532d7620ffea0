"""A job with what belongs to it: the budgets it spends from, its parent, and the jobs below it."""

from typing import Any, Final

from msgspec import Struct, to_builtins

from leasehold import canonical
from leasehold.model.tree.budget import Budget
from leasehold.shapes import from_fields
from leasehold.store import Store

TREE_MAX: Final = 10_000


class JobInTree(Struct, frozen=True):
    """A job of a tree; `depth` counts from 0, for the job that was asked for. `spent`: by itself, by name."""

    id: int
    parent_job_id: int | None
    depth: int
    kind: str
    key: str
    status: str
    spent: dict[str, int]


class JobTree(Struct, frozen=True):
    """`jobs`: the job itself, then those below it, each after its parent."""

    parent_id: int | None
    root_id: int
    budget: dict[str, Budget]
    jobs: list[JobInTree]

    def plain(self) -> dict[str, Any]:
        budget = {name: {**to_builtins(one), "left": one.left} for name, one in self.budget.items()}
        return {"budget": budget, "parent": self.parent_id, "root": self.root_id, "tree": to_builtins(self.jobs)}


def read(store: Store, job_id: int, most: int = TREE_MAX) -> JobTree:
    lineage = store.links.of(job_id)
    jobs = [
        from_fields(JobInTree, row, spent=canonical.decode(row.spent) if row.spent else {})
        for row in store.links.tree(job_id, most)
    ]
    parent, root = (None, job_id) if lineage is None else (lineage.parent_job_id, lineage.root_id)
    return JobTree(parent, root, store.budgets.of(job_id), jobs)
