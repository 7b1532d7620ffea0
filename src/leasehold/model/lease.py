"""The lease: the right to settle one attempt of one task. `(task_id, fence)` is its identity."""

from typing import Final, Literal

from msgspec import Struct

from leasehold.model.delivery import OutgoingMessage
from leasehold.model.failure.failure import Failure

SUSPECT_LOSSES: Final = 2  # written out in `make_due.sql` and `reclaim.sql`

Ending = Literal["DONE", "ERROR", "CANCELLED", "RETRY"]


class Lease(Struct, frozen=True):
    """A lease as its holder has it, with the facts needed to run the attempt. `started_at`: when it was claimed."""

    task_id: int
    fence: int
    attempt: int
    epoch: int
    position: int
    job_id: int
    kind: str
    stage: str | None
    segment: int | None
    key: str
    payload: str
    item: str | None
    queue: str
    priority: int
    attempts_max: int
    lease_ms: int
    started_at: int = 0
    losses: int = 0  # workers that this task has lost in this epoch

    @property
    def route(self) -> str:
        return self.kind if self.stage is None else f"{self.kind}/{self.stage}"

    @property
    def failures(self) -> int:
        """Count the attempts that are spent, this one included: a lost worker spends none."""
        return self.attempt - self.losses

    @property
    def is_suspect(self) -> bool:
        return self.losses >= SUSPECT_LOSSES


class LeaseKey(Struct, frozen=True):
    """The identity of a lease."""

    task_id: int
    fence: int


class Settlement(LeaseKey, frozen=True, omit_defaults=True):
    """How one attempt ended, ready to be written. Lands only while its lease stands."""

    status: Ending
    output: str | None = None
    failure: str | None = None
    delay_us: int = 0
    detail: str | None = None
    deliveries: list[OutgoingMessage] | None = None

    @property
    def size(self) -> int:
        """The number of characters it adds to a batch."""
        messages = sum(len(message.message) for message in self.deliveries) if self.deliveries else 0
        return len(self.output or "") + len(self.failure or "") + messages


class Settled(LeaseKey, frozen=True):
    """The store's answer to one settlement: what was recorded, and whether somebody waits for it."""

    status: str
    has_dependents: bool


class Renewal(LeaseKey, frozen=True):
    lease_ms: int


class Renewed(LeaseKey, frozen=True):
    """The store's answer to a lease that stands; `cancel_reason` is set when the task shall stop."""

    cancel_reason: str | None
    extended: bool = True  # false where another transaction holds the lease at this moment: ask again


class Progress(LeaseKey, frozen=True):
    """How far one attempt has come, as the handler reported it (canonical JSON)."""

    progress: str


def done(
    lease: Lease, output: str | None, detail: str | None = None, deliveries: list[OutgoingMessage] | None = None
) -> Settlement:
    """End an attempt DONE; its messages are written with its end."""
    return Settlement(lease.task_id, lease.fence, "DONE", output, detail=detail, deliveries=deliveries)


def failed(lease: Lease, failure: Failure) -> Settlement:
    """End an attempt, and its task, for good."""
    return Settlement(lease.task_id, lease.fence, "ERROR", failure=failure.text())


def cancelled(lease: Lease, failure: Failure) -> Settlement:
    """End an attempt because its task was cancelled."""
    return Settlement(lease.task_id, lease.fence, "CANCELLED", failure=failure.text())


def retried(lease: Lease, failure: Failure, delay_us: int, detail: str) -> Settlement:
    """End an attempt and have the task wait for another."""
    return Settlement(lease.task_id, lease.fence, "RETRY", failure=failure.text(), delay_us=delay_us, detail=detail)
