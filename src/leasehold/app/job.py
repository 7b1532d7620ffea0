"""A handle on one job. Fields that can change are read from the database at each access."""

from __future__ import annotations

import random
import threading
import time
from datetime import datetime
from typing import Any, Final

from leasehold import canonical
from leasehold.errors import WaitTimeout
from leasehold.insight.read import jobs
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.model.failure.failure import Failure
from leasehold.model.names import reason_of
from leasehold.model.status import Status
from leasehold.model.task import Submitted
from leasehold.redact import scrub
from leasehold.store import Store
from leasehold.store.db.wake import ATTENTION

POLL_FIRST: Final = 0.005
POLL_MAX: Final = 0.25
FINAL: Final = (Status.DONE, Status.CANCELLED)  # what ended in ERROR can be revived


class Job:
    """One job: its facts, status and result."""

    def __init__(self, store: Store, job_id: int, kind: str, key: str, payload: Any) -> None:
        self._store = store
        self._snapshot: JobSnapshot | None = None
        self.id = job_id
        self.kind = kind
        self.key = key
        self.payload = payload

    @classmethod
    def of(cls, store: Store, snapshot: JobSnapshot) -> Job:
        job = cls(store, snapshot.id, snapshot.kind, snapshot.key, snapshot.payload)
        job._snapshot = snapshot
        return job

    @classmethod
    def submitted(cls, store: Store, answer: Submitted) -> Job:
        return cls(store, answer.id, answer.kind, answer.key, canonical.decode(answer.payload))

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

    def wait(self, timeout: float | None = None) -> Job:
        """Wait until the job has settled and return it; `WaitTimeout` if that takes longer than `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = POLL_FIRST
        while not self.status.settled:
            left = POLL_MAX if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeout(f"Job {self.id} is {self.status}.")
            threading.Event().wait(min(left, pause * random.uniform(0.8, 1.2)))
            pause = min(pause * 1.5, POLL_MAX)
        return self

    def cancel(self, reason: str = "") -> Job:
        """Cancel the job: tasks that have not started end, running ones are asked to stop. No effect once settled."""
        failure = Failure("CANCELLED", reason_of(scrub(str(reason))) or "cancelled by its submitter")
        count = self._store.tasks.cancel(self.id, failure.text())
        if count.asked:
            self._store.wake([ATTENTION])
        self._snapshot = None
        return self

    def _read(self) -> JobSnapshot:
        if self._snapshot is None or self._snapshot.status not in FINAL:
            self._snapshot = jobs.find(self._store, self.id, whole=False)
        return self._snapshot

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.kind} {self.key!r}>"
