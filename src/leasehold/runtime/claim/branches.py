"""The branches of a worker's queues that have ready tasks, and which of them need not be asked for a while.

Branches come and go with what is submitted, so they are listed about once a second, and only while there are any. A
branch whose slots are all taken is asked again when a slot becomes free, which is known at once for this worker's own.
"""

from collections.abc import Iterable, Sequence

from leasehold import clock
from leasehold.model.limits import BRANCHES_LOOK_MAX
from leasehold.model.names import base_of
from leasehold.runtime.limits import BRANCH_LIST_US
from leasehold.store import Store


class Branches:
    """What a claimer knows about branches. `changes` counts slots that became free, for a claim that is under way."""

    def __init__(self, store: Store, queues: Sequence[str]) -> None:
        self._store = store
        self._served = frozenset(queues)
        self._known: list[str] = []
        self._paused: dict[str, int | None] = {}
        self._listed_at: int | None = None
        self._after = ""
        self.exist = False
        self.changes = 0

    def active(self) -> list[str]:
        """Return the branches to claim from now, in the order of whose turn it is."""
        if not self.exist:
            return []
        now = clock.uptime()
        if self._listed_at is None or now - self._listed_at >= BRANCH_LIST_US:
            self._list(now)
        untils = ((branch, self._paused.get(branch, 0)) for branch in self._known)
        return [branch for branch, until in untils if until is not None and until <= now]

    def pause(self, branch: str, until: int | None = None) -> None:
        """Leave a branch alone until that time, or until one of its slots becomes free."""
        self._paused[branch] = until

    def resume(self, queues: Iterable[str]) -> None:
        """Ask these again: a slot became free."""
        self.changes += 1
        for queue in queues:
            self._paused.pop(queue, None)

    def next_due_in(self, now: int) -> int | None:
        """Return in how many microseconds the next one shall be asked, 0 if that is now; None if none has a time."""
        due = {queue: until for queue, until in list(self._paused.items()) if until is not None}
        over = [queue for queue, until in due.items() if until <= now]
        for queue in over:
            self._paused.pop(queue, None)
        if over:
            return 0
        return min(due.values()) - now if due else None

    def forget(self) -> None:
        """List them again at the next call."""
        self._listed_at = None

    def rotate(self) -> None:
        self._known = self._known[1:] + self._known[:1]

    def _list(self, now: int) -> None:
        """List branches; where there are more than fit, those after the last ones come next time."""
        found = self._store.queues.branches(self._after)
        self._after = found[-1] if len(found) == BRANCHES_LOOK_MAX else ""
        self._known = [branch for branch in found if base_of(branch) in self._served]
        for branch, until in list(self._paused.items()):
            if until is None or until <= now:
                self._paused.pop(branch, None)
        self._listed_at = now
