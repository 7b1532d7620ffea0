"""Deliveries: the outbox. Rows are claimed by their state; every write after a claim names the row and the fence."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, structs

from leasehold import clock
from leasehold.errors import DeliverySettled, DeliveryUnknown
from leasehold.model.outbox import LOOKUPS_MAX, STUCK, ClaimedDelivery, DeliveryMark, DeliveryRow, DeliveryStatus
from leasehold.store.audit import add_line
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document


class DeliveryAnswer(Struct, frozen=True):
    sent: bool
    notification_id: str | None
    principal: str
    notes: str


class Backlog(Struct, frozen=True):
    """What one provider's deliveries wait for. `late`: due by now, the oldest since `late_at`."""

    now: int
    provider: str
    late: int
    late_at: int | None
    in_doubt: int
    reconciling: int
    failed: int
    inconsistent: int


class Deliveries(Noun):
    def claim(
        self,
        provider: str,
        lease_seconds: float,
        most: int,
        *,
        worker: int | None = None,
        only: str | None = None,
        delivery_id: int | None = None,
    ) -> list[ClaimedDelivery]:
        """Claim due deliveries of a provider for `lease_seconds`. `only`: of this status."""
        values = {"lease_us": clock.microseconds(lease_seconds), "most": most, "only": only, "delivery": delivery_id}
        rows = self._database.write("deliveries/claim", provider=provider, worker=worker, **values)
        return [ClaimedDelivery(*row) for row in rows]

    def begin(self, taken: Sequence[ClaimedDelivery], worker: int) -> list[ClaimedDelivery]:
        """Note that deliveries are about to be sent; return those whose claim still stands, as they are now."""
        claims = document([{"id": one.id, "fence": one.fence} for one in taken])
        rows = self._database.write("deliveries/begin", claims=claims, worker=worker) if taken else []
        begun = {(row[0], row[1]) for row in rows}
        return [structs.replace(one, status=DeliveryStatus.SENDING) for one in taken if (one.id, one.fence) in begun]

    def mark(self, mark: DeliveryMark) -> bool:
        """Store the result of a delivery; False if the claim is no longer valid."""
        marks = document([mark])
        rows, in_doubt = self._database.write_checked(lambda session: session.run("deliveries/mark", marks=marks))
        if rows or not in_doubt:
            return bool(rows)
        found = self.get(mark.id)  # an earlier try of this very write may have been committed without an answer
        return found.fence == mark.fence and found.status == mark.status

    def renew(self, taken: Iterable[ClaimedDelivery], lease_seconds: float) -> set[tuple[int, int]]:
        """Extend claims of deliveries being sent; return the claims that were still valid."""
        claims = document([{"id": one.id, "fence": one.fence} for one in taken])
        rows = self._database.write("deliveries/renew", claims=claims, lease_us=clock.microseconds(lease_seconds))
        return {(row[0], row[1]) for row in rows}

    def suspect(self, providers: Sequence[str], delivery_id: int | None = None) -> list[DeliveryRow]:
        """Move what is marked sent without evidence to reconciliation, before anything more is sent."""
        rows = self._database.write("deliveries/suspect", providers=document(providers), delivery=delivery_id)
        return [DeliveryRow(*row) for row in rows]

    def reconcile(self, providers: Sequence[str], principal: str, delivery_id: int | None = None) -> list[DeliveryRow]:
        """Have deliveries in doubt or reconciling looked up again, each with a line of the audit trail."""
        values = {"providers": document(providers), "delivery": delivery_id, "lookups": LOOKUPS_MAX - 1}

        def work(session: Session) -> list[DeliveryRow]:
            found = [DeliveryRow(*row) for row in session.run("deliveries/reconcile", **values)]
            for one in found:
                add_line(session, principal, "reconcile", "delivery", one.id, {"named": delivery_id is not None})
            return found

        return self._database.transact(work)

    def answer(self, delivery_id: int, answer: DeliveryAnswer) -> DeliveryRow:
        """Store a person's answer, with a line of the audit trail; `DeliverySettled` if it needs none."""

        def work(session: Session) -> DeliveryRow | None:
            rows = session.run(
                "deliveries/answer", delivery=delivery_id, sent=answer.sent, notification_id=answer.notification_id
            )
            if not rows:
                return None
            detail = {"notes": answer.notes, "notification_id": answer.notification_id, "sent": answer.sent}
            add_line(session, answer.principal, "answer", "delivery", delivery_id, detail)
            return DeliveryRow(*rows[0])

        written, in_doubt = self._database.transact_checked(work)
        found = written or self.get(delivery_id)
        if written is None and not (in_doubt and found.status == ("sent" if answer.sent else "pending")):
            raise DeliverySettled(f"Delivery {delivery_id} is {found.status}.")
        return found

    def get(self, delivery_id: int) -> DeliveryRow:
        """Read one delivery; `DeliveryUnknown` if there is none."""
        rows = self._database.read("deliveries/get", delivery=delivery_id)
        if not rows:
            raise DeliveryUnknown(f"The id is {delivery_id}.")
        return DeliveryRow(*rows[0])

    def list(
        self, *, status: str | None = None, subject: str | None = None, before: int | None = None, most: int = 50
    ) -> list[DeliveryRow]:
        name = "deliveries/stuck" if status in STUCK else "deliveries/list"
        return self._list(DeliveryRow, name, status=status, subject=subject, before=before, most=most)

    def counts(self, subject: str, version: int, recipients: Sequence[str] | None = None) -> dict[str, int]:
        among = None if recipients is None else document(recipients)
        rows = self._database.read("deliveries/count", subject=subject, version=version, recipients=among)
        return {status: int(count) for status, count in rows}

    def backlogs(self) -> Sequence[Backlog]:
        """Return for each provider what its deliveries wait for."""
        rows = self._database.read("deliveries/open")
        return [Backlog(now, name, int(late), late_at, *map(int, counts)) for now, name, late, late_at, *counts in rows]

    def remaining(self, providers: Sequence[str]) -> tuple[int, int]:
        """Count what these providers have yet to send: in all, and due now."""
        count, due = self._database.read("deliveries/remaining", providers=document(providers))[0]
        return int(count), int(due)
