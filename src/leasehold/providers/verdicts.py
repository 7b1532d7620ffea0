"""What a provider concludes beyond the protocol's own words, and how it quotes a peer.

`Refused` and `NotSent` claim that nothing was sent, so they are raised only where that is certain. Everything else
is `MaybeSent`. What an operator has to repair (a credential, a certificate) is not the letter's fault: it is
`NotSent` with a long wait, so that no row fails while it is being repaired.
"""

from __future__ import annotations

import contextlib
import unicodedata
from typing import Final

from leasehold.errors import Misuse, OptionInvalid
from leasehold.model.limits import REASON_LENGTH_MAX
from leasehold.redact import RedactionFailed, register, scrub

REPAIR_SECONDS: Final = 300.0
TIMEOUT_SECONDS_MAX: Final = 600.0
_UNSEEN: Final = {"Cc", "Cs", "Zl", "Zp"}


class MaybeSent(Exception):
    """Raised by a provider: the message was handed over, but not whether it was taken; only a look-up can tell."""


def is_one_line(text: str) -> bool:
    """Whether a text may stand in a header: no line break of any kind, no control, no half of a character."""
    return not any(unicodedata.category(character) in _UNSEEN for character in text)


def hide(*secrets: str) -> None:
    """Have these values taken out of whatever this process writes; one too short to be told from a word is left."""
    for secret in secrets:
        with contextlib.suppress(Misuse):
            register(secret)


def one_line(text: str | bytes) -> str:
    """Return a peer's text, such as its id of a letter, as one line; nothing else is changed, and nothing cut."""
    return _joined(text)


def quoted(text: str | bytes | BaseException) -> str:
    """Return what a peer or the system said as one short line without secrets, fit for a reason or a log."""
    try:
        # Cut last: half a secret could not be recognised.
        return scrub(_joined(str(text) if isinstance(text, BaseException) else text))[:REASON_LENGTH_MAX]
    except RedactionFailed:
        return "(not shown, because it could not be cleaned of secrets)"


def _joined(text: str | bytes) -> str:
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return " ".join("".join(character if is_one_line(character) else " " for character in said).split())


def check_timeout(seconds: float) -> None:
    """Refuse a time-out that would wait for ever, or not at all."""
    if not 0 < seconds <= TIMEOUT_SECONDS_MAX:
        raise OptionInvalid(f"A time-out is more than 0 and at most {TIMEOUT_SECONDS_MAX:.0f} seconds.")
