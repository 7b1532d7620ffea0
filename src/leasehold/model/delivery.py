"""One message that one recipient is to get once: what a provider is asked, and what it may answer. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import Struct

from leasehold import canonical


class Post(Struct, frozen=True):
    """A message to be posted with the end of its task. `message` is canonical JSON; `provider` names who carries it."""

    subject: str
    recipient: str
    version: int
    message: str
    provider: str


@dataclass(frozen=True, slots=True)
class Letter:
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

    def send(self, letter: Letter) -> Sent:
        """Hand the message over and return the provider's id of it. `letter.token` goes along for deduplication."""

    def find(self, letter: Letter, notification_id: str | None) -> Sent | Absent | Unknown:
        """Look up whether the message was taken, by token or by the id an earlier try captured. Sends nothing."""


def token_of(subject: str, recipient: str, version: int) -> str:
    """Derive the token of a delivery: sha256 of the canonical JSON of its identity."""
    identity = {"recipient": recipient, "subject": subject, "v": 1, "version": version}
    return hashlib.sha256(canonical.encode(identity).encode("utf-8")).hexdigest()
