"""Deliveries as people and programs see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.model.outbox import DeliveryRow, DeliveryStatus
from leasehold.store import Store
from leasehold.store.audit import AuditLine
from leasehold.store.deliveries import Backlog

LATE_SECONDS: Final = 60.0


class Delivery(Struct, frozen=True):
    """One delivery at one moment. `notification_id`: the provider's own id of it, once it has been taken."""

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

    def plain(self) -> dict[str, Any]:
        """Return the delivery as JSON-able fields, times in ISO 8601 (UTC)."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        for name in ("created_at", "due_at", "notified_at"):
            found[name] = found[name].isoformat() if found[name] else None
        return {**found, "status": self.status.value}


def view(row: DeliveryRow) -> Delivery:
    """Return a stored delivery as it is shown."""
    created_at = clock.moment(row.created_at)
    assert created_at is not None
    return Delivery(
        id=row.id,
        task_id=row.task_id,
        subject=row.subject,
        recipient=row.recipient,
        version=row.version,
        message=canonical.decode(row.message),
        provider=row.provider,
        status=DeliveryStatus(row.status),
        attempts=row.attempts,
        notification_id=row.notification_id,
        failure=None if row.failure is None else canonical.decode(row.failure),
        created_at=created_at,
        due_at=clock.moment(row.due_at),
        notified_at=clock.moment(row.notified_at),
    )


def find(store: Store, delivery_id: int) -> Delivery:
    """Read one delivery, or raise `DeliveryUnknown`."""
    return view(store.deliveries.get(delivery_id))


def listing(
    store: Store, *, status: str | None, subject: str | None, before: int | None = None, limit: int
) -> list[Delivery]:
    """List deliveries, newest first."""
    return [view(row) for row in store.deliveries.list(status=status, subject=subject, before=before, most=limit)]


def deeds(store: Store, delivery_id: int) -> list[dict[str, Any]]:
    """Read what people did about a delivery, oldest first: `answer` and `reconcile`."""
    return [_told(line) for line in store.audit.list("delivery", delivery_id)]


def _told(line: AuditLine) -> dict[str, Any]:
    at = clock.moment(line.at)
    assert at is not None
    return {
        "at": at.isoformat(),
        "principal": line.principal,
        "action": line.action,
        **canonical.decode(line.detail),
    }


def unserved(backlog: Backlog) -> float | None:
    """Return for how many seconds a provider's oldest due delivery has waited, if that is longer than it should be."""
    waited = 0.0 if backlog.late_at is None else (backlog.now - backlog.late_at) / clock.SECOND
    return waited if waited > LATE_SECONDS else None
