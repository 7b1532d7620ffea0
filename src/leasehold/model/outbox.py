"""The outbox: a delivery's row, and what is written to it after each step. Pure.

    pending ──claim, begin──▶ sending ──send──▶ sent | failed | pending again | looked up later
                                                    look-up: sent | sent again | in_doubt, for a person
    marked without evidence ──▶ reconciling ──look-up──▶ sent | pending | in_doubt

A claim alone sends nothing; `begin` commits the intent. A delivery that was begun and not marked, or has an id
without a time, may have been sent: it is looked up before anything else. `failed` is written only where it is certain
that nothing was sent.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, Literal

from msgspec import Struct

from leasehold import canonical
from leasehold.model.delivery import Message, mark_of, token_of
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import Settlement
from leasehold.model.limits import NOTIFICATION_ID_LENGTH_MAX
from leasehold.model.names import clean
from leasehold.model.retry import Bury, Retry, decide, jitter_of

# About four hours with full jitter; a refused row fails at once, a mail server that is away does not fail a row soon.
DELIVERY_RETRY: Final = Retry(attempts=100, delay_initial=1, multiplier=2, delay_max=300, delay_ceiling=300)
LOOKUPS_MAX: Final = 3
ID_SHOWN_MAX: Final = 1_000
MAY_BE_SENT: Final = "DELIVERY_MAY_BE_SENT"
SECOND: Final = 1_000_000


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    RECONCILING = "reconciling"


STUCK: Final = (DeliveryStatus.FAILED, DeliveryStatus.IN_DOUBT, DeliveryStatus.RECONCILING)


class DeliveryRow(Struct, frozen=True):
    """A delivery as it is stored; `message` and `failure` are canonical JSON. `lookups`: how many gave no answer."""

    id: int
    task_id: int
    subject: str
    recipient: str
    version: int
    message: str
    provider: str
    status: str
    fence: int
    attempts: int
    lookups: int
    due_at: int | None
    notification_id: str | None
    notified_at: int | None
    failure: str | None
    created_at: int

    @property
    def mark(self) -> str:
        """The digest under which the end of its task names it."""
        return mark_of(self.subject, self.recipient, self.version, self.message, self.provider)

    @property
    def to_send(self) -> Message:
        token = token_of(self.subject, self.recipient, self.version)
        return Message(self.subject, self.recipient, self.version, canonical.decode(self.message), token)


class ClaimedDelivery(DeliveryRow, frozen=True):
    """A delivery that a relay has claimed; `was` is its status before."""

    was: str

    @property
    def may_be_sent(self) -> bool:
        """Whether it must be looked up before it is sent: an earlier relay, or an earlier try, may have sent it."""
        return self.was != DeliveryStatus.PENDING or self.notification_id is not None or self.notified_at is not None


class DeliveryMark(Struct, frozen=True):
    """One write to a delivery. `evidence`: whether id and time are given, kept or cleared."""

    id: int
    fence: int
    status: str
    evidence: Literal["given", "kept", "cleared"]
    notification_id: str | None = None
    delay_us: int | None = None
    spent: int = 1
    lookups: int = 0
    failure: str | None = None


def sent(claimed: ClaimedDelivery, notification_id: str) -> DeliveryMark:
    return DeliveryMark(claimed.id, claimed.fence, DeliveryStatus.SENT, "given", evidence_of(notification_id))


def evidence_of(notification_id: str) -> str:
    """Return a provider's id as it is stored: complete, or if it is too long, its beginning with a digest of it."""
    if len(notification_id) <= NOTIFICATION_ID_LENGTH_MAX:
        return clean(notification_id, NOTIFICATION_ID_LENGTH_MAX)
    digest = hashlib.sha256(notification_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{clean(notification_id, ID_SHOWN_MAX)}, cut: sha256 {digest}"


def refused(claimed: ClaimedDelivery, failure: Failure) -> DeliveryMark:
    """Fail this row: its provider will never accept it, and nothing was sent."""
    return DeliveryMark(claimed.id, claimed.fence, DeliveryStatus.FAILED, "cleared", failure=failure.text())


def not_sent(claimed: ClaimedDelivery, failure: Failure, policy: Retry) -> DeliveryMark:
    """Certainly nothing was sent: try again later, or fail when no attempts are left."""
    seed = _seed(claimed, "attempt", claimed.attempts)
    decision = decide(failure, claimed.attempts, policy.attempts, policy, jitter_of(seed))
    if isinstance(decision, Bury):
        return refused(claimed, failure)
    delay_us = round(decision.delay * SECOND)
    text = canonical.encode({**canonical.decode(failure.text()), "delay_us": delay_us, "seed": seed})
    return DeliveryMark(claimed.id, claimed.fence, DeliveryStatus.PENDING, "cleared", delay_us=delay_us, failure=text)


def may_be_sent(claimed: ClaimedDelivery, failure: Failure) -> DeliveryMark:
    """It may have been sent: keep the claim, and look it up soon."""
    return _look_up_later(claimed, canonical.decode(failure.text()), lookups=0)


def still_unknown(claimed: ClaimedDelivery, failure: Failure) -> DeliveryMark:
    """The look-up was inconclusive: repeat it a few times; then a person decides."""
    lookups = claimed.lookups + 1
    failure_fields = {**canonical.decode(failure.text()), "first_doubt": _first_doubt(claimed)}
    if lookups >= LOOKUPS_MAX:
        text = canonical.encode(failure_fields)
        return DeliveryMark(claimed.id, claimed.fence, DeliveryStatus.IN_DOUBT, "kept", lookups=lookups, failure=text)
    return _look_up_later(claimed, failure_fields, lookups)


def _first_doubt(claimed: ClaimedDelivery) -> dict[str, Any]:
    """Return why it was looked up: how the send ended, or that no result was reported."""
    known: dict[str, Any] = {} if claimed.failure is None else canonical.decode(claimed.failure)
    if isinstance(known.get("first_doubt"), dict):
        found: dict[str, Any] = known["first_doubt"]
        return found
    if known.get("error_class") == MAY_BE_SENT:
        return {name: known[name] for name in ("context", "error_class", "message") if name in known}
    lost = "the relay that had claimed it ended before it reported the result"
    message = "it was marked without evidence" if claimed.was == DeliveryStatus.RECONCILING else lost
    return {"error_class": MAY_BE_SENT, "message": message}


def cleared(claimed: ClaimedDelivery) -> DeliveryMark:
    """It was marked, but its provider does not have it: clear the marks and send it like a new one."""
    return DeliveryMark(claimed.id, claimed.fence, DeliveryStatus.PENDING, "cleared", delay_us=0)


def released(claimed: ClaimedDelivery) -> DeliveryMark:
    """Release it unchanged; if it had to be looked up, it still has to."""
    return DeliveryMark(
        claimed.id,
        claimed.fence,
        claimed.was,
        "kept",
        delay_us=0,
        spent=0,
        lookups=claimed.lookups,
        failure=claimed.failure,
    )


def _look_up_later(claimed: ClaimedDelivery, failure: dict[str, Any], lookups: int) -> DeliveryMark:
    seed = _seed(claimed, "look", lookups)
    delay_us = round(2**lookups * jitter_of(seed) * SECOND)
    text = canonical.encode({**failure, "delay_us": delay_us, "seed": seed})
    return DeliveryMark(
        claimed.id, claimed.fence, claimed.status, "kept", delay_us=delay_us, lookups=lookups, failure=text
    )


def _seed(claimed: ClaimedDelivery, what: str, number: int) -> str:
    return f"delivery|{token_of(claimed.subject, claimed.recipient, claimed.version)}|{claimed.fence}|{what}|{number}"


def without_conflicts(settlements: Sequence[Settlement]) -> list[Sequence[Settlement]]:
    """Return batches in which no recipient gets a subject's version twice: a later batch finds the earlier message."""
    if not any(one.deliveries for one in settlements):
        return [settlements]
    batches: list[list[Settlement]] = []
    claimed: list[set[tuple[str, str, int]]] = []
    for one in settlements:
        messages = {(message.subject, message.recipient, message.version) for message in one.deliveries or ()}
        number = next((n for n, known in enumerate(claimed) if not messages & known), len(batches))
        if number == len(batches):
            batches.append([])
            claimed.append(set())
        batches[number].append(one)
        claimed[number] |= messages
    return list(batches)
