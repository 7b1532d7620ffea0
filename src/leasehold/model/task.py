"""What is written when work is submitted: jobs, and the stages and segments below them."""

from msgspec import Struct

from leasehold.model.limits import LEASE_SECONDS
from leasehold.model.status import OnLost

LEASE_MS = round(LEASE_SECONDS * 1000)


class Terms(Struct, frozen=True):
    """The terms of a task's leases; fixed at submit, so that no user code is needed to recover it."""

    queue: str = "default"
    attempts_max: int = 5
    lease_ms: int = LEASE_MS
    on_lost: str = OnLost.REQUEUE.value


class Submission(Struct, frozen=True):
    """One job to be submitted. `unmet` is the number of stages its end waits for."""

    kind: str
    key: str
    payload: str
    terms: Terms
    priority: int = 0
    delay_us: int = 0
    unmet: int = 0


class Submitted(Struct, frozen=True):
    """The store's answer to a submission: the job that is there now, and whether this call made it."""

    id: int
    kind: str
    key: str
    payload: str
    created: bool


class Child(Struct, frozen=True):
    """One stage or segment to be added below a job. `unmet`: how many tasks it waits for; `epoch`: of its fan-out."""

    job_id: int
    parent_id: int
    kind: str
    stage: str
    terms: Terms
    priority: int
    segment: int | None = None
    item: str | None = None
    each_field: str | None = None
    delay_us: int = 0
    unmet: int = 0
    epoch: int = 1


class Facts(Struct, frozen=True):
    """A stored stage that is to fan out, with its source's output."""

    id: int
    job_id: int
    kind: str
    stage: str
    priority: int
    each_field: str
    queue: str
    attempts_max: int
    lease_ms: int
    on_lost: str
    epoch: int
    source_id: int
    source_output: str | None

    @property
    def terms(self) -> Terms:
        return Terms(self.queue, self.attempts_max, self.lease_ms, self.on_lost)
