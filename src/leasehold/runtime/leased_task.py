"""What an attempt was given: its payload, its segment, its inputs, its times, and a logger."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from leasehold import canonical, clock
from leasehold.model.lease import Lease
from leasehold.runtime.observe.logs import Log


class LeasedTask:
    """A task as its lease describes it."""

    def __init__(self, lease: Lease, read_inputs: Callable[[], dict[str, Any]]) -> None:
        self.lease = lease
        self.attempt = lease.attempt  # which one this is, from 1
        self._read_inputs = read_inputs
        self._inputs: dict[str, Any] | None = None

    @property
    def payload(self) -> dict[str, Any]:
        found: dict[str, Any] = canonical.decode(self.lease.payload)
        return found

    @property
    def segment(self) -> Any:
        return None if self.lease.item is None else canonical.decode(self.lease.item)

    @property
    def inputs(self) -> dict[str, Any]:
        """The outputs of the stages this one came after, by stage; a list in segment order for one that fanned out."""
        if self._inputs is None:
            self._inputs = self._read_inputs()
        return self._inputs

    @property
    def started_at(self) -> datetime:
        """When this attempt was claimed, by the database's clock (UTC); a replay has the recorded time."""
        found = clock.moment(self.lease.started_at)
        assert found is not None
        return found

    @property
    def log(self) -> Any:
        """A logger that knows the task."""
        lease = self.lease
        return Log("leasehold.task", job=lease.job_id, task=lease.task_id, route=lease.route, attempt=lease.attempt)
