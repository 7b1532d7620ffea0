"""A database's URL as it may be shown: never with a password."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

MASK: Final = "***"
PIECE_MIN: Final = 4
# The last @ counts: a password that was not quoted may hold one, and too much hidden is better than too little.
_AUTHORITY: Final = re.compile(r"^([a-z0-9+]+://[^:@/?#]*):(.*)@", re.IGNORECASE | re.DOTALL)
_PARAMETER: Final = re.compile(r"([?&](?:ssl)?password=)([^&]*)", re.IGNORECASE)


def masked(url: str) -> str:
    """Return the URL with its password hidden."""
    if url.startswith("sqlite:"):
        return url
    return _PARAMETER.sub(rf"\1{MASK}", _AUTHORITY.sub(rf"\1:{MASK}@", url))


def scrubbed(text: str, url: str) -> str:
    """Return a text, such as a driver's message, without what is secret in the URL."""
    for secret in sorted(_secrets(url), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(url: str) -> set[str]:
    if url.startswith("sqlite:"):
        return set()
    found = [match[2] for match in (_AUTHORITY.match(url), *_PARAMETER.finditer(url)) if match and match[2]]
    # A driver that reads a URL differently may quote a piece of the password as the port or the host.
    pieces = [piece for secret in found for piece in re.split(r"[/?#@:]", secret) if len(piece) >= PIECE_MIN]
    return {*found, *pieces, *(unquote(secret) for secret in found)}
