"""The orchestrator: NEW → READY, from data alone. It needs no user code, runs no task; any number may run at once."""

from __future__ import annotations

from leasehold.store import Store


class Orchestrator:
    """Moves what waits: for prerequisites, for parts, for a time."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def advance(self) -> set[str]:
        """Look at every end nobody has looked at; return the queues that got work."""
        queues: set[str] = set()
        while (done := self._store.stages.advance()).seen:
            queues |= done.queues
        return queues

    def make_due(self) -> set[str]:
        """Make ready what has become due; return the queues that got work."""
        queues: set[str] = set()
        while (done := self._store.stages.make_due()).seen:
            queues |= done.queues
        return queues
