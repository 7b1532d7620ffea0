"""How a provider reports that nothing was sent, or that something may have been.

`Refused` and `NotSent` claim that nothing was sent, so they are raised only where that is certain. Everything else
is `MaybeSent`. What an operator has to repair (a credential, a certificate) is not the message's fault: it is
`NotSent` with a long wait, so that no row fails while it is being repaired.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from leasehold import canonical
from leasehold.errors import Misuse, OptionInvalid, PayloadInvalid
from leasehold.model.delivery import Message, NotSent, Refused
from leasehold.outbound import AddressForbidden, NoResponse, NotConnected, quoted
from leasehold.providers.limits import REPAIR_SECONDS, TIMEOUT_SECONDS_MAX
from leasehold.redact import register

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


class MaybeSent(Exception):
    """Raised by a provider: the message was handed over, and no answer confirms that it was accepted; look it up."""


@contextlib.contextmanager
def as_delivery_error() -> Iterator[None]:
    """Raise the failure of an exchange as what it means for a delivery."""
    try:
        yield
    except AddressForbidden as error:
        raise Refused(quoted(error)) from None
    except NotConnected as error:
        raise NotSent(quoted(error), retry_after=REPAIR_SECONDS if error.needs_operator else 0.0) from None
    except NoResponse as error:
        raise MaybeSent(quoted(error)) from None


def hide(*secrets: str) -> None:
    """Register these values with the redactor; one too short to be distinguished from a word is left out."""
    for secret in secrets:
        with contextlib.suppress(Misuse):
            register(secret)


def check_timeout(seconds: float) -> None:
    """Refuse a time-out that would wait for ever, or not at all."""
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise OptionInvalid(f"A time-out is more than 0 and at most {TIMEOUT_SECONDS_MAX:.0f} seconds.")


def checked_token(message: Message, place: str) -> str:
    """Return the message's token; raise if it does not fit where it is to stand."""
    if not _TOKEN.fullmatch(message.token):
        raise Refused(f"The token does not fit into a {place}.")
    return message.token


def as_json(message: Message, *fields: str) -> bytes:
    """Return some fields of a message as canonical JSON."""
    try:
        return canonical.encode({name: getattr(message, name) for name in fields}).encode()
    except PayloadInvalid as error:
        raise Refused(str(error)) from None
