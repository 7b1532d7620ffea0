"""What is on record of one job, read from the database at each access until it cannot change any more."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from leasehold.insight.read import jobs
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.model.status import Status
from leasehold.model.tree.budget import Budget
from leasehold.store import Store

FINAL: Final = (Status.DONE, Status.CANCELLED)  # what ended in ERROR can be revived


class JobRecord:
    """A job's facts, status and result."""

    def __init__(self, store: Store, job_id: int, kind: str, key: str, payload: Any) -> None:
        self._store = store
        self._snapshot: JobSnapshot | None = None
        self.id = job_id
        self.kind = kind
        self.key = key
        self.payload = payload

    @property
    def status(self) -> Status:
        """NEW, READY, RUNNING, DONE, ERROR or CANCELLED."""
        return self._read().status

    @property
    def state(self) -> str | None:
        """Its state in its kind's machine; None without one."""
        return self.states.get("")

    @property
    def states(self) -> dict[str, str]:
        """The states of the job and its parts in the machine, by name; its own is under the empty name."""
        return self._store.machines.states(self.id)

    @property
    def budget(self) -> dict[str, Budget]:
        """The budgets that it spends from, by name: its own, or those of the job at the root of its tree."""
        return self._store.budgets.of(self.id)

    @property
    def output(self) -> Any:
        """What the handler returned; for a pipeline that is DONE, the outputs of its last stages by name."""
        snapshot = self._read()
        if snapshot.has_parts and snapshot.status == Status.DONE:
            return self._store.stages.outputs(self.id)
        return snapshot.output

    @property
    def failure(self) -> dict[str, Any] | None:
        """Why it ended ERROR or CANCELLED: `error_class`, `message` and, for a handler's exception, `stack`."""
        return self._read().failure

    @property
    def created_at(self) -> datetime:
        """When it was submitted (UTC, by the database's clock)."""
        return (self._snapshot or self._read()).created_at

    @property
    def finished_at(self) -> datetime | None:
        """When it settled; None before."""
        return self._read().finished_at

    def _read(self) -> JobSnapshot:
        if self._snapshot is None or self._snapshot.status not in FINAL:
            self._snapshot = jobs.find(self._store, self.id, whole=False)
        return self._snapshot

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.kind} {self.key!r}>"
