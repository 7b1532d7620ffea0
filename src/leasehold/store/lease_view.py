"""Live leases and the next ready tasks, for manual leases, one task at a time."""

from collections.abc import Sequence

from msgspec import Struct

from leasehold.model.lanes import Lane
from leasehold.model.lease import Lease
from leasehold.store.db.database import Noun
from leasehold.store.db.documents import document


class LeaseView(Struct, frozen=True):
    """A live lease: until when, and who holds it. Without `boot` it is a manual lease of the owner `host`.

    `effects`: the highest number of an effect of its task.
    """

    lease: Lease
    expires_at: int
    host: str
    boot: str
    pid: int
    effects: int

    @property
    def holder(self) -> str:
        """The holder's name as people see it."""
        return f"{self.host}:{self.pid}" if self.boot else self.host


class LeaseViews(Noun):
    def next_of(self, queues: Sequence[str], routes: str, most: int) -> list[Lane]:
        """Find the next task of each of these queues, the first of all first; each lane selects one."""
        return self._list(_lane, "lease_view/ready_first", queues=document(queues), routes=routes, most=most)

    def place_of(self, task_id: int) -> Lane | None:
        """Find a ready task; the lane selects it."""
        rows = self._database.read("lease_view/ready_of", task=task_id)
        return _lane(*rows[0]) if rows else None

    def of(self, task_id: int) -> LeaseView | None:
        rows = self._database.read("lease_view/lease_of", task=task_id)
        return LeaseView(Lease(*rows[0][:-5]), *rows[0][-5:]) if rows else None


def _lane(queue: str, priority: int, position: int) -> Lane:
    """Return the lane whose first task has this position."""
    return Lane(queue, priority, priority, position - 1)
