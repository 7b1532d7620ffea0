"""One message that one recipient is to get once: what a provider is asked, and what it may answer. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import DeliveryConflict, OptionInvalid, PayloadInvalid
from leasehold.model.limits import (
    DELIVERIES_BYTES_MAX,
    DELIVERIES_MAX,
    DELIVERY_KEY_BYTES_MAX,
    RECIPIENT_LENGTH_MAX,
    SUBJECT_LENGTH_MAX,
    VERSION_MAX,
)
from leasehold.model.names import check_name, check_text, check_whole

MARK_DIGITS: Final = 32


class OutgoingMessage(Struct, frozen=True):
    """A message to be posted with the end of its task. `message` is canonical JSON; `provider` names who carries it."""

    subject: str
    recipient: str
    version: int
    message: str
    provider: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message on its way. `token` is derived from subject, recipient and version: the same on every try."""

    subject: str
    recipient: str
    version: int
    message: dict[str, Any]
    token: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider has it, under this id of its own."""

    notification_id: str


@dataclass(frozen=True, slots=True)
class Absent:
    """The provider knows for certain that it does not have it: it may be sent."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The provider cannot tell. Only a person can."""

    why: str


class Refused(Exception):
    """Raised by a provider: this message will never be taken (bad recipient, policy); nothing was sent."""


class NotSent(Exception):
    """Raised by a provider: nothing was sent, for certain; try again, no sooner than `retry_after` seconds from now."""

    def __init__(self, message: str = "", *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Provider(Protocol):
    """Who carries messages. Whatever else `send` raises means: it may have been sent."""

    def send(self, message: Message) -> Sent:
        """Hand the message over and return the provider's id of it. `message.token` goes along for deduplication."""

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        """Look up whether the message was taken, by token or by the id an earlier try captured. Sends nothing."""


def make_message(
    subject: object, recipient: object, version: object, message: object, provider: object
) -> OutgoingMessage:
    """Check a message that a task delivers; its fields are an object of strict JSON."""
    subject = check_text(subject, SUBJECT_LENGTH_MAX, "A delivery's subject")
    recipient = check_text(recipient, RECIPIENT_LENGTH_MAX, "A recipient")
    if len(f"{subject}{recipient}".encode()) > DELIVERY_KEY_BYTES_MAX:
        raise OptionInvalid(
            f"A delivery's subject and recipient together have at most {DELIVERY_KEY_BYTES_MAX:,} bytes."
        )
    if not isinstance(message, Mapping):
        raise PayloadInvalid(f"A message is an object whose fields the provider reads; got {type(message).__name__}.")
    whole = check_whole(version, 1, VERSION_MAX, "A delivery's version")
    return OutgoingMessage(subject, recipient, whole, canonical.encode(dict(message)), check_name(provider, "provider"))


class OutgoingMessages:
    """The messages of one attempt, written with its end: each recipient of a subject's version once."""

    def __init__(self) -> None:
        self._messages: dict[tuple[str, str, int], OutgoingMessage] = {}
        self._size = 0

    def add(self, message: OutgoingMessage) -> None:
        """Take up a message; the very same one again is the same one."""
        identity = (message.subject, message.recipient, message.version)
        known = self._messages.setdefault(identity, message)
        if known is not message:
            if known != message:
                raise DeliveryConflict(f"Subject {message.subject!r}, version {message.version}.")
            return
        self._size += len(message.message)
        if len(self._messages) > DELIVERIES_MAX or self._size > DELIVERIES_BYTES_MAX:
            del self._messages[identity]
            self._size -= len(message.message)
            most = f"{DELIVERIES_MAX:,} messages of {DELIVERIES_BYTES_MAX:,} bytes in all"
            raise OptionInvalid(f"One task delivers at most {most}; fan out into segments.")

    def all(self) -> list[OutgoingMessage] | None:
        """Return the messages in the order in which they came; None without any."""
        return list(self._messages.values()) or None


def mark_of(subject: str, recipient: str, version: int, message: str, provider: str) -> str:
    """Return what a delivery's row must digest to for as long as it stands: 128 bits of the sha256 of its line."""
    line = _line(OutgoingMessage(subject, recipient, version, message, provider))
    return hashlib.sha256(line.encode("utf-8")).hexdigest()[:MARK_DIGITS]


def trace_of(messages: Sequence[OutgoingMessage] | None) -> dict[str, Any]:
    """Return what the end of an attempt tells of its messages: how many, a digest over all, and the mark of each."""
    if not messages:
        return {}
    lines = [_line(message) for message in messages]
    digest = hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()
    told: dict[str, Any] = {"posts": len(messages), "posts_sha256": digest}
    if len(messages) > 1:  # of a single one it is how the digest begins
        marks = [hashlib.sha256(line.encode("utf-8")).hexdigest()[:MARK_DIGITS] for line in lines]
        told["posts_marks"] = marks
    return told


def marks_in(detail: object) -> list[str]:
    """Return the marks of the messages that the end of an attempt tells of."""
    if not isinstance(detail, dict) or "posts" not in detail:
        return []
    return list(detail.get("posts_marks") or [str(detail.get("posts_sha256"))[:MARK_DIGITS]])


def _line(message: OutgoingMessage) -> str:
    digest = hashlib.sha256(message.message.encode("utf-8")).hexdigest()
    return canonical.encode([message.subject, message.recipient, message.version, digest, message.provider]) + "\n"


def token_of(subject: str, recipient: str, version: int) -> str:
    """Derive the token of a delivery: sha256 of the canonical JSON of its identity."""
    identity = {"recipient": recipient, "subject": subject, "v": 1, "version": version}
    return hashlib.sha256(canonical.encode(identity).encode("utf-8")).hexdigest()
