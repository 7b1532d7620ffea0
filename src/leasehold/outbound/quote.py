"""A peer's words as one short line without secrets, fit for an error or a log."""

import unicodedata
from typing import Final

from leasehold.redact import RedactionFailed, scrub

QUOTE_LENGTH_MAX: Final = 500
_UNPRINTED: Final = {"Cc", "Cs", "Zl", "Zp"}


def is_one_line(text: str) -> bool:
    """Whether a text may stand in a header: no line break of any kind, no control character, no half of a character."""
    return not any(unicodedata.category(character) in _UNPRINTED for character in text)


def one_line(text: str | bytes) -> str:
    """Return a peer's text, such as its id of a message, as one line; nothing else is changed, and nothing cut."""
    decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return " ".join("".join(character if is_one_line(character) else " " for character in decoded).split())


def quoted(text: str | bytes | BaseException, length_max: int = QUOTE_LENGTH_MAX) -> str:
    """Return what a peer or the system reported as one short line without secrets."""
    try:
        # Cut last: half a secret could not be recognised.
        return scrub(one_line(str(text) if isinstance(text, BaseException) else text))[:length_max]
    except RedactionFailed:
        return "(not shown, because it could not be cleaned of secrets)"
