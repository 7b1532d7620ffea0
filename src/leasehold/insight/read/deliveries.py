"""Deliveries as people and programs see them."""

from datetime import datetime
from typing import Any

from leasehold import canonical, clock
from leasehold.insight.limits import DELIVERY_LATE_SECONDS
from leasehold.model.outbox import DeliveryRow, DeliveryStatus
from leasehold.shapes import View, from_fields
from leasehold.store import Store
from leasehold.store.deliveries import Backlog


class Delivery(View, frozen=True):
    """One delivery at one moment. `notification_id`: the provider's own id, once it has accepted the message."""

    id: int
    task_id: int
    subject: str
    recipient: str
    version: int
    message: dict[str, Any]
    provider: str
    status: DeliveryStatus
    attempts: int
    notification_id: str | None
    failure: dict[str, Any] | None
    created_at: datetime
    due_at: datetime | None
    notified_at: datetime | None


def view(row: DeliveryRow) -> Delivery:
    return from_fields(
        Delivery,
        row,
        message=canonical.decode(row.message),
        status=DeliveryStatus(row.status),
        failure=None if row.failure is None else canonical.decode(row.failure),
        created_at=clock.moment(row.created_at),
        due_at=clock.moment(row.due_at),
        notified_at=clock.moment(row.notified_at),
    )


def find(store: Store, delivery_id: int) -> Delivery:
    """Read one delivery, or raise `DeliveryUnknown`."""
    return view(store.deliveries.get(delivery_id))


def listing(
    store: Store, *, status: str | None, subject: str | None, before: int | None = None, limit: int
) -> list[Delivery]:
    return [view(row) for row in store.deliveries.list(status=status, subject=subject, before=before, most=limit)]


def actions(store: Store, delivery_id: int) -> list[dict[str, Any]]:
    """Read the audit trail of a delivery, oldest first: `answer` and `reconcile`."""
    lines = [(clock.moment(line.at).isoformat(), line) for line in store.audit.list("delivery", delivery_id)]
    return [
        {"at": at, "principal": line.principal, "action": line.action, **canonical.decode(line.detail)}
        for at, line in lines
    ]


def unserved(backlog: Backlog) -> float | None:
    """Return how many seconds a provider's oldest due delivery has waited, if longer than `DELIVERY_LATE_SECONDS`."""
    waited = 0.0 if backlog.late_at is None else (backlog.now - backlog.late_at) / clock.SECOND
    return waited if waited > DELIVERY_LATE_SECONDS else None
