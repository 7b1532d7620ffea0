"""The engine's jobs under a session: one for the session, which has the budgets, and a linked one for each child.

Their leases are bound to the coordinator's process. So the engine's own check knows which coordinators are gone, a
debit lands only while its child is held, and `leasehold show` has the tree of what was spent. No worker runs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from leasehold import Held, Job, Leasehold, Misuse, Retry, Status
from leasehold.errors import JobNotFree
from leasehold.pipelines.agents.child_budget import check_totals, limits_of
from leasehold.pipelines.agents.errors import SessionEnded, SessionInactive, SessionInvalid
from leasehold.pipelines.agents.limits import LEASE_SECONDS, SIGNAL_SECONDS, TAKE_OVER_SECONDS
from leasehold.pipelines.agents.plan.values import ChildBudget

SESSION_KIND: Final = "agents.session"
CHILD_KIND: Final = "agents.child"
QUEUE: Final = "agents"
OWNER: Final = "agents coordinator"
NAME: Final = "lease-{}-{}"  # of a coordinator: the session's job and the fence of its lease
FOREVER: Final = Retry(attempts=1, losses=1_000)


def register_kinds(app: Leasehold) -> None:
    """Make the kinds of these jobs known."""
    app.job(name=SESSION_KIND, queue=QUEUE, retry=FOREVER, lease=LEASE_SECONDS)(_session)
    app.job(name=CHILD_KIND, queue=QUEUE, retry=Retry(attempts=1), lease=LEASE_SECONDS, on_lost="bury")(_child)


def _session(parent_session_id: str, root: str) -> NoReturn:
    raise Misuse(f"Session {parent_session_id} of {root} is coordinated by `leasehold agents`, not run by a worker.")


def _child(parent_session_id: str, child_id: str, name: str) -> NoReturn:
    raise Misuse(f"Child {child_id} ({name}) of {parent_session_id} is run by its coordinator, not by a worker.")


@dataclass(frozen=True, slots=True)
class SessionLease:
    """A session's job, held by this process."""

    app: Leasehold
    job: Job
    held: Held

    @property
    def coordinator(self) -> str:
        """The name of this coordinator: nobody else ever has it."""
        return NAME.format(self.job.id, self.held.fence)

    def hold_child(self, child_id: str, name: str) -> Held:
        """Make a child's job, linked to the session's, and hold it."""
        payload = {"parent_session_id": self.job.key, "child_id": child_id, "name": name}
        linked = self.held.task.submit(CHILD_KIND, payload, key=child_id)
        # crash here: the job of a child was made but not held
        return self.app.manual.hold(linked.id, owner=OWNER, seconds=LEASE_SECONDS, of_process=True)

    def cancel_leftovers(self) -> None:
        """Cancel the jobs of children that a coordinator which is gone has made and not held: nobody ever will."""
        for job in self.app.jobs(status=Status.READY, kind=CHILD_KIND, limit=1_000):
            if job.payload["parent_session_id"] == self.job.key:
                job.cancel("its coordinator died before it was started")


def find_session_job(app: Leasehold, parent_session_id: str) -> Job | None:
    return app.find(SESSION_KIND, parent_session_id)


def hold_session(app: Leasehold, parent_session_id: str, root: str, budget: ChildBudget) -> SessionLease:
    """Hold a session's job, a new one if there is none. A living coordinator keeps it."""
    job = find_session_job(app, parent_session_id)
    if job is None:
        payload = {"parent_session_id": parent_session_id, "root": root}
        job = app.submit(SESSION_KIND, payload, key=parent_session_id, budget=limits_of(budget))
    check_totals(job.budget, budget)
    if job.payload["root"] != root:
        raise SessionInvalid(f"Its files are in {job.payload['root']}; use that folder.", parent_session_id=job.key)
    app.manual.reclaim_gone()
    return SessionLease(app, job, _hold(app, job))


def _hold(app: Leasehold, job: Job) -> Held:
    """Wait for the lease while the engine keeps back a session whose coordinators died one after the other."""
    deadline = time.monotonic() + TAKE_OVER_SECONDS
    while True:
        try:
            return app.manual.hold(job.id, owner=OWNER, seconds=LEASE_SECONDS, of_process=True)
        except JobNotFree as error:
            if job.status in (Status.DONE, Status.CANCELLED, Status.ERROR):
                raise SessionEnded(parent_session_id=job.key) from None
            if job.status is not Status.NEW or time.monotonic() > deadline:
                raise SessionInactive(f"Another has it. {error.detail}", parent_session_id=job.key) from None
        time.sleep(SIGNAL_SECONDS)


def gone_check(app: Leasehold) -> Callable[[str], bool]:
    """Return what decides whether a coordinator is gone: its lease no longer stands. In doubt it is not."""
    app.manual.reclaim_gone()

    def is_gone(coordinator: str) -> bool:
        word, _, numbers = coordinator.partition("-")
        job_id, _, fence = numbers.partition("-")
        if word != "lease" or not (job_id.isdigit() and fence.isdigit()):
            return False
        return app.manual.fence(int(job_id)) != int(fence)

    return is_gone


def counted(passed: int, failed: int) -> dict[str, Any]:
    """Return what the session's job is done with."""
    return {"passed": passed, "failed": failed}
