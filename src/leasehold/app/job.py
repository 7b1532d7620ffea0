"""A handle on one job. What can still change is read anew each time it is looked at."""

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

LOOK_FIRST: Final = 0.005
LOOK_MAX: Final = 0.25
FINAL: Final = (Status.DONE, Status.CANCELLED)  # what ended in ERROR can be revived


class Job:
    """One job: its facts, where it stands, and what came of it."""

    def __init__(self, store: Store, job_id: int, kind: str, key: str, payload: Any) -> None:
        self._store = store
        self._seen: JobSnapshot | None = None
        self.id = job_id
        self.kind = kind
        self.key = key
        self.payload = payload

    @classmethod
    def of(cls, store: Store, seen: JobSnapshot) -> Job:
        """Make a handle of a job that was just read."""
        job = cls(store, seen.id, seen.kind, seen.key, seen.payload)
        job._seen = seen
        return job

    @classmethod
    def submitted(cls, store: Store, answer: Submitted) -> Job:
        """Make a handle of a job that was just submitted."""
        return cls(store, answer.id, answer.kind, answer.key, canonical.decode(answer.payload))

    @property
    def status(self) -> Status:
        """Where it stands: NEW, READY, RUNNING, DONE, ERROR or CANCELLED."""
        return self._look().status

    @property
    def state(self) -> str | None:
        """Where it stands in its kind's machine; None without one."""
        return self.states.get("")

    @property
    def states(self) -> dict[str, str]:
        """Where it and its parts stand in the machine, by name; its own state is under the empty name."""
        return self._store.machines.states(self.id)

    @property
    def output(self) -> Any:
        """What the handler returned; for a pipeline that is DONE, the outputs of its last stages by name."""
        seen = self._look()
        if seen.has_parts and seen.status == Status.DONE:
            return self._store.stages.outputs(self.id)
        return seen.output

    @property
    def failure(self) -> dict[str, Any] | None:
        """Why it ended ERROR or CANCELLED: `error_class`, `message` and, for a handler's exception, `stack`."""
        return self._look().failure

    @property
    def created_at(self) -> datetime:
        """When it was submitted (UTC, by the database's clock)."""
        return (self._seen or self._look()).created_at

    @property
    def finished_at(self) -> datetime | None:
        """When it settled; None before."""
        return self._look().finished_at

    def wait(self, timeout: float | None = None) -> Job:
        """Wait until the job has settled and return it; `WaitTimeout` if that takes longer than `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = LOOK_FIRST
        while not self.status.settled:
            left = LOOK_MAX if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise WaitTimeout(f"Job {self.id} is {self.status}.")
            threading.Event().wait(min(left, pause * random.uniform(0.8, 1.2)))
            pause = min(pause * 1.5, LOOK_MAX)
        return self

    def cancel(self, reason: str = "") -> Job:
        """Call the job off: what has not started ends at once, what runs is asked to stop. No effect once settled."""
        failure = Failure("CANCELLED", reason_of(scrub(str(reason))) or "cancelled by its submitter")
        count = self._store.tasks.cancel(self.id, failure.text())
        if count.asked:
            self._store.wake([ATTENTION])
        self._seen = None
        return self

    def _look(self) -> JobSnapshot:
        if self._seen is None or self._seen.status not in FINAL:
            self._seen = jobs.find(self._store, self.id, whole=False)
        return self._seen

    def __repr__(self) -> str:
        """Name the job."""
        return f"<Job {self.id} {self.kind} {self.key!r}>"
