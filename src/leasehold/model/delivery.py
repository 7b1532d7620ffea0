"""One message that one recipient gets once: what a provider is asked, and what it may answer. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import DeliveryConflict, OptionInvalid, PayloadInvalid
from leasehold.model import limits
from leasehold.model.names import check_name, check_text, check_whole

MARK_DIGITS: Final = 32


class OutgoingMessage(Struct, frozen=True):
    """A message that is written with the end of its task. `message` is canonical JSON; `provider` names the sender."""

    subject: str
    recipient: str
    version: int
    message: str
    provider: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send. `token` is derived from subject, recipient and version: the same on every try."""

    subject: str
    recipient: str
    version: int
    message: dict[str, Any]
    token: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider accepted the message; the id is the provider's own."""

    notification_id: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider is certain that it does not have the message: it may be sent."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The provider does not know. A person decides."""

    why: str


class Refused(Exception):
    """Raised by a provider: this message will never be accepted (bad recipient, policy); nothing was sent."""


class NotSent(Exception):
    """Raised by a provider: certainly nothing was sent; try again after `retry_after` seconds at the earliest.

    `server_retry_after` is what the server asked for: the provider's retry policy limits it.
    """

    def __init__(self, message: str = "", *, retry_after: float = 0.0, server_retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.server_retry_after = server_retry_after


class Provider(Protocol):
    """Sends messages. Any other exception from `send` means: the message may have been sent."""

    def send(self, message: Message) -> Sent:
        """Send the message and return the provider's id of it; `message.token` is for deduplication."""

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        """Look up whether the message was accepted, by token or by the id of an earlier try. Sends nothing."""


def make_message(
    subject: object, recipient: object, version: object, message: object, provider: object
) -> OutgoingMessage:
    subject = check_text(subject, limits.SUBJECT_LENGTH_MAX, "A delivery's subject")
    recipient = check_text(recipient, limits.RECIPIENT_LENGTH_MAX, "A recipient")
    if len(f"{subject}{recipient}".encode()) > limits.DELIVERY_KEY_BYTES_MAX:
        raise OptionInvalid(
            f"A delivery's subject and recipient together have at most {limits.DELIVERY_KEY_BYTES_MAX:,} bytes."
        )
    if not isinstance(message, Mapping):
        raise PayloadInvalid(f"A message is an object whose fields the provider reads; got {type(message).__name__}.")
    whole = check_whole(version, 1, limits.VERSION_MAX, "A delivery's version")
    return OutgoingMessage(subject, recipient, whole, canonical.encode(dict(message)), check_name(provider, "provider"))


class OutgoingMessages:
    """The messages of one attempt, written with its end: each recipient of a subject's version once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str, int], OutgoingMessage] = {}
        self._size = 0

    def add(self, message: OutgoingMessage) -> None:
        identity = (message.subject, message.recipient, message.version)
        known = self._messages.setdefault(identity, message)
        if known is not message:
            if known != message:
                raise DeliveryConflict(f"Subject {message.subject!r}, version {message.version}.")
            return
        self._size += len(message.message)
        if len(self._messages) > limits.DELIVERIES_MAX or self._size > limits.DELIVERIES_BYTES_MAX:
            del self._messages[identity]
            self._size -= len(message.message)
            most = f"{limits.DELIVERIES_MAX:,} messages of {limits.DELIVERIES_BYTES_MAX:,} bytes in all"
            raise OptionInvalid(f"One task delivers at most {most}; fan out into segments.")

    def all(self) -> list[OutgoingMessage] | None:
        """Return the messages in order; None without any."""
        return list(self._messages.values()) or None


def mark_of(subject: str, recipient: str, version: int, message: str, provider: str) -> str:
    """Return the digest that a delivery's row must keep: 128 bits of the sha256 of its line."""
    line = _line(OutgoingMessage(subject, recipient, version, message, provider))
    return hashlib.sha256(line.encode("utf-8")).hexdigest()[:MARK_DIGITS]


def trace_of(messages: Sequence[OutgoingMessage] | None) -> dict[str, Any]:
    """Return what the end of an attempt records of its messages: their number, a digest over all, one of each."""
    if not messages:
        return {}
    lines = [_line(message) for message in messages]
    digest = hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()
    trace: dict[str, Any] = {"posts": len(messages), "posts_sha256": digest}
    if len(messages) > 1:  # the digest of a single message begins with its mark
        trace["posts_marks"] = [hashlib.sha256(line.encode("utf-8")).hexdigest()[:MARK_DIGITS] for line in lines]
    return trace


def marks_in(detail: object) -> list[str]:
    """Return the digests of the messages that the end of an attempt records."""
    if not isinstance(detail, dict) or "posts" not in detail:
        return []
    return list(detail.get("posts_marks") or [str(detail.get("posts_sha256"))[:MARK_DIGITS]])


def _line(message: OutgoingMessage) -> str:
    digest = hashlib.sha256(message.message.encode("utf-8")).hexdigest()
    return canonical.encode([message.subject, message.recipient, message.version, digest, message.provider]) + "\n"


def token_of(subject: str, recipient: str, version: int) -> str:
    """Derive a delivery's token: the sha256 of the canonical JSON of its identity."""
    identity = {"recipient": recipient, "subject": subject, "v": 1, "version": version}
    return hashlib.sha256(canonical.encode(identity).encode("utf-8")).hexdigest()
