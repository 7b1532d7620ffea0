"""The `task` a handler may ask for: what it is, what came before it, and ways to speak to the engine."""

from __future__ import annotations

from typing import Any, Protocol

from leasehold import canonical
from leasehold.errors import LeaseLost
from leasehold.model.lease import Lease
from leasehold.model.limits import PROGRESS_BYTES_MAX
from leasehold.model.names import clean
from leasehold.runtime.logs import Log


class Line(Protocol):
    """How a running attempt speaks to the engine: directly, or through a pipe from a child process."""

    def inputs(self) -> dict[str, Any]:
        """Read the outputs of the stages before."""

    def note(self, progress: str) -> None:
        """Report progress (canonical JSON)."""

    @property
    def cancelled(self) -> bool:
        """Whether the task shall stop."""

    @property
    def lost(self) -> bool:
        """Whether the lease no longer stands."""


class Task:
    """One attempt, as its handler sees it."""

    def __init__(self, lease: Lease, line: Line) -> None:
        self.lease = lease
        self._line = line
        self._inputs: dict[str, Any] | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The job's payload."""
        found: dict[str, Any] = canonical.decode(self.lease.payload)
        return found

    @property
    def segment(self) -> Any:
        """The item this segment is for; None for a task that is not a segment."""
        return None if self.lease.item is None else canonical.decode(self.lease.item)

    @property
    def inputs(self) -> dict[str, Any]:
        """The outputs of the stages this one came after, by stage; a list in segment order for one that fanned out."""
        if self._inputs is None:
            self._inputs = self._line.inputs()
        return self._inputs

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.lease.attempt

    @property
    def cancelled(self) -> bool:
        """Whether the task shall stop: it was cancelled, or its lease is lost. Long handlers look from time to time."""
        return self._line.cancelled or self._line.lost

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the attempt has come; the latest report counts."""
        if self._line.lost:
            raise LeaseLost
        fields: dict[str, Any] = {"done": done}
        if total is not None:
            fields["total"] = total
        if message:
            fields["message"] = clean(message, 500)
        self._line.note(canonical.encode(fields, limit=PROGRESS_BYTES_MAX))

    @property
    def log(self) -> Any:
        """A logger that knows the task."""
        lease = self.lease
        return Log("leasehold.task", task=lease.task_id, route=lease.route, attempt=lease.attempt)
