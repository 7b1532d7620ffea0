"""The messages of a replayed attempt compared with those on record: each must be posted again, and no other.

A message that stood already when the attempt was done is not on record as its own; that it was posted is known from the
marks of the attempt's messages, which its last event has.
"""

from leasehold import canonical
from leasehold.model.delivery import OutgoingMessage, mark_of, marks_in
from leasehold.model.journal.record import DeliveryLine, TaskRecord, text_of
from leasehold.model.lease import Settlement
from leasehold.runtime.replay.ledger import Diverged


def compare_posts(record: TaskRecord, settlement: Settlement) -> None:
    """Raise the first divergence among messages: one that is missing or another, one more, another order."""
    messages = settlement.deliveries or []
    by_identity = {(one.subject, one.recipient, one.version): one for one in messages}
    for one in record.deliveries:
        found = by_identity.get((one.subject, one.recipient, one.version))
        if one.created_at == record.outcomes[-1].finished_at and _posted(found) != _recorded(one):
            raise Diverged(record.task, _description(one), canonical.encode(_recorded(one)), _shown(found))
    then = marks_in(record.events[-1].detail)
    now = [mark_of(one.subject, one.recipient, one.version, one.message, one.provider) for one in messages]
    extra = next((message for message, mark in zip(messages, now, strict=True) if mark not in then), None)
    if extra is not None:
        raise Diverged(record.task, _description(extra), None, _shown(extra))
    if len(then) != len(now):
        raise Diverged(record.task, "number of deliveries", str(len(then)), str(len(now)))
    if then != now:
        raise Diverged(record.task, "order of deliveries", " ".join(then), " ".join(now))


def _posted(message: OutgoingMessage | None) -> tuple[str | None, str] | None:
    return None if message is None else (message.message, message.provider)


def _recorded(line: DeliveryLine) -> tuple[str | None, str]:
    return text_of(line.message), line.provider


def _shown(message: OutgoingMessage | None) -> str:
    return canonical.encode(_posted(message))


def _description(one: OutgoingMessage | DeliveryLine) -> str:
    return f"delivery of '{one.subject}' to '{one.recipient}', version {one.version}"
