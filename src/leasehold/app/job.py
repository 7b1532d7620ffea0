"""A handle on one job: what is on record of it, its tasks, why it does not run, and what a caller may do with it."""

from __future__ import annotations

import random
import threading
import time
from typing import Final

from leasehold import canonical
from leasehold.app.job_record import JobRecord
from leasehold.errors import WaitTimeout
from leasehold.insight.explain.explanation import Explanation
from leasehold.insight.explain.read import explain
from leasehold.insight.read import jobs, tasks
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.insight.read.tasks import JobProgress, TaskCounts, TaskView
from leasehold.model.names import reason_of
from leasehold.model.task import Submitted
from leasehold.model.tree.cancel import cancel_reason
from leasehold.redact import scrub
from leasehold.runtime.process_identity import is_gone, this_process
from leasehold.store import Store
from leasehold.store.db.wake import ATTENTION

POLL_FIRST: Final = 0.005
POLL_MAX: Final = 0.25


class Job(JobRecord):
    """One job: its facts, status and result."""

    @classmethod
    def of(cls, store: Store, snapshot: JobSnapshot) -> Job:
        job = cls(store, snapshot.id, snapshot.kind, snapshot.key, snapshot.payload)
        job._snapshot = snapshot
        return job

    @classmethod
    def submitted(cls, store: Store, answer: Submitted) -> Job:
        return cls(store, answer.id, answer.kind, answer.key, canonical.decode(answer.payload))

    @property
    def tasks(self) -> list[TaskView]:
        """Its tasks: the job itself, then the stages of a pipeline and their segments, with status and attempt."""
        return tasks.listing(self._store, self.id)

    @property
    def counts(self) -> TaskCounts:
        """How many of its tasks have each status, also by stage; as text, such as '312 of 500', those that are done."""
        return tasks.counts(self._store, self.id)

    @property
    def progress(self) -> JobProgress | None:
        """How far it has come: what its handler last reported with `task.progress`, while it runs; else None.

        For a pipeline: how many of its tasks are done, and of how many that are known.
        """
        if self._read().has_parts:
            found = self.counts
            return JobProgress(found.done, found.total)
        return next((task.progress for task in self.tasks), None)

    @property
    def parent(self) -> Job | None:
        """The job whose task has submitted this one with `task.submit`; None if there is none."""
        found = self._store.links.of(self.id)
        return None if found is None else Job.of(self._store, jobs.find(self._store, found.parent_job_id, whole=False))

    @property
    def children(self) -> list[Job]:
        """The jobs that its tasks have submitted with `task.submit`, in order; the first 1,000."""
        return [Job.submitted(self._store, one) for one in self._store.links.children(self.id)]

    def explain(self) -> Explanation:
        """Explain why it does not run, what holds it up, or how it ended: a sentence, and what to do about it."""
        return explain(self._store, self.id, this_process(), is_gone)

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

    def cancel(self, reason: str = "", *, request: str | None = None) -> Job:
        """Cancel the job and all jobs below it: tasks that have not started end, running ones are stopped.

        What has ended stays as it is; what a job has submitted is cancelled even if the job itself has ended. Each task
        that ends so names the reason and the request: `request`, or a digest of the job and the reason.
        """
        failure = cancel_reason(self.kind, self.key, reason_of(scrub(str(reason))), request)
        count = self._store.tasks.cancel(self.id, failure.text())
        if count.asked:
            self._store.wake([ATTENTION])
        self._snapshot = None
        return self
