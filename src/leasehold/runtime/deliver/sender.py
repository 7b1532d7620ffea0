"""The sender of one delivery, from the claim to the one write that records what came of it.

claim   committed before anything else; it is not sent yet
begin   committed before it is sent: later readers see that it may have been sent
look    first, where an earlier try may have sent it
send    with a token made of subject, recipient and version, the same on every try
mark    the provider's id, the time and the status, in one write that lands only while the claim stands
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import structs

from leasehold.model import outbox
from leasehold.model.delivery import Absent, NotSent, Provider, Refused, Sent, Unknown
from leasehold.model.failure.failure import Failure, classify
from leasehold.model.failure.verdict import pause
from leasehold.model.failure.wording import WITHHELD, fit
from leasehold.model.limits import MESSAGE_LENGTH_MAX
from leasehold.model.outbox import DELIVERY_RETRY, MAY_BE_SENT, ClaimedDelivery, DeliveryMark, DeliveryStatus
from leasehold.model.retry import Retry
from leasehold.redact import scrub
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store

NOT_SENT = "DELIVERY_NOT_SENT"
REFUSED = "DELIVERY_REFUSED"
IN_DOUBT = "DELIVERY_IN_DOUBT"


@dataclass(frozen=True, slots=True)
class RegisteredProvider:
    """A provider as it is registered here, and how often it is tried."""

    provider: Provider
    retry: Retry = DELIVERY_RETRY


Providers = Mapping[str, RegisteredProvider]


class DeliverySender:
    """Sends what was claimed. Never raises what a provider raises."""

    def __init__(self, store: Store, providers: Providers, events: EventLog) -> None:
        self._store = store
        self._providers = providers
        self._events = events

    def send(self, taken: ClaimedDelivery, is_held: Callable[[], bool]) -> None:
        """Look up or send, then mark. `is_held`: whether the claim can still be relied upon."""
        registered = self._providers[taken.provider]
        mark = _look_up(taken, registered) if taken.may_be_sent else None
        if mark is None:
            # crash here: begun but not sent
            # The claim is given back or runs out; then it is looked up, since nobody knows that it was not sent.
            mark = _send(taken, registered) if is_held() else outbox.released(taken)
        # crash here: sent but not marked
        # The claim is given back or runs out; then it is looked up and marked as found, or left to a person, but never
        # sent blindly.
        landed = self._store.deliveries.mark(mark)
        # crash here: marked but not logged
        # Everything is on record; only the log has a line less.
        self._events.delivery_marked(taken, mark, landed=landed)


def _look_up(taken: ClaimedDelivery, registered: RegisteredProvider) -> DeliveryMark | None:
    """Ask the provider whether it has it; None if it is certain that it does not, and it may be sent now."""
    match _find(taken, registered.provider):
        case Sent(notification_id):
            return outbox.sent(taken, notification_id)
        case Unknown(why):
            return outbox.still_unknown(taken, Failure(IN_DOUBT, why))
        case Absent() if taken.was == DeliveryStatus.RECONCILING:
            return outbox.cleared(taken)
        case Absent() if taken.attempts > registered.retry.attempts:
            return outbox.refused(
                taken, Failure(NOT_SENT, "its relays died or lost it again and again; it was not sent")
            )
    return None


def _find(taken: ClaimedDelivery, provider: Provider) -> Sent | Absent | Unknown:
    """Look it up; whatever goes wrong leaves it unknown."""
    try:
        found = provider.find(taken.to_send, taken.notification_id)
    except BaseException as error:  # noqa: BLE001 — a look-up that fails proves nothing
        return Unknown(_failure(IN_DOUBT, error).message)
    if isinstance(found, Absent) or (isinstance(found, Sent) and _is_id(found)):
        return found
    return Unknown(_reason(found))


def _send(taken: ClaimedDelivery, registered: RegisteredProvider) -> DeliveryMark:
    try:
        answer: object = registered.provider.send(taken.to_send)
    except Refused as error:
        return outbox.refused(taken, _failure(REFUSED, error))
    except NotSent as error:
        delays = {name: pause(getattr(error, name)) for name in ("retry_after", "server_retry_after")}
        failure = structs.replace(_failure(NOT_SENT, error), retryable=True, **delays)
        return outbox.not_sent(taken, failure, registered.retry)
    except BaseException as error:  # noqa: BLE001 — whatever else is raised, it may have been sent
        return outbox.may_be_sent(taken, _failure(MAY_BE_SENT, error))
    if isinstance(answer, Sent) and _is_id(answer):
        return outbox.sent(taken, answer.notification_id)
    return outbox.may_be_sent(taken, Failure(MAY_BE_SENT, _reason(answer)))


def _is_id(answer: Sent) -> bool:
    found: object = answer.notification_id  # whatever somebody's own provider puts there
    return isinstance(found, str) and found.strip() != ""


def _reason(found: object) -> str:
    if not isinstance(found, Unknown):
        return f"the provider answered with no id but with a {type(found).__name__}"
    try:
        return fit(str(found.why), MESSAGE_LENGTH_MAX, scrub)
    except BaseException:  # noqa: BLE001 — nothing unredacted is kept, and the row is marked whatever its text does
        return WITHHELD


def _failure(error_class: str, error: BaseException) -> Failure:
    try:
        found = classify(error)
    except BaseException:  # noqa: BLE001 — whatever was raised, even by its text, it is put on record
        return Failure(error_class, type(error).__name__)
    stack = "" if isinstance(error, Refused | NotSent) else found.stack
    return structs.replace(found, error_class=error_class, stack=stack, retryable=False, retry_after=0.0)
