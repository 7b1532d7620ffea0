"""Show a database's URL, and errors about it, without its password."""

import re
from typing import Final
from urllib.parse import unquote

from leasehold.errors import Broken, LeaseholdError, Unavailable, UrlInvalid

MASK: Final = "***"
PIECE_MIN: Final = 4
# The last @ counts: a password that was not quoted may hold one, and too much hidden is better than too little.
_AUTHORITY: Final = re.compile(r"^([a-z0-9+]+://[^:@/?#]*):(.*)@", re.IGNORECASE | re.DOTALL)
# What every reader of URLs splits alike: one @ at most, ports that are numbers, escapes that are whole.
_HOST: Final = r"(?:\[[0-9a-f:.%]+\]|[^][:@/?#,]*)(?::[0-9]*)?"
_CLEAN: Final = re.compile(rf"[a-z0-9+]+://(?:[^@/]*@)?{_HOST}(?:,{_HOST})*(?:[/?][^@]*)?", re.IGNORECASE | re.DOTALL)
_ESCAPE_BROKEN: Final = re.compile(r"%(?![0-9a-f]{2})", re.IGNORECASE)
_MAY_QUOTE_URL: Final = (Unavailable, UrlInvalid, Broken)
_CAUSE_HIDDEN: Final = (
    "The cause is not shown, as it may quote a password: this URL can be read in several ways."
    " In a user's name and password write @ as %40, : as %3A, / as %2F, % as %25."
)
_PARAMETER: Final = re.compile(r"([?&](?:ssl)?password=)([^&]*)", re.IGNORECASE)


def masked(url: str) -> str:
    if url.startswith("sqlite:"):
        return url
    if not (_is_clean(url) or _AUTHORITY.match(url)):
        return f"{url.partition('://')[0]}://{MASK}" if "://" in url else MASK
    return _PARAMETER.sub(rf"\1{MASK}", _AUTHORITY.sub(rf"\1:{MASK}@", url))


def safe_text(error: LeaseholdError, url: str) -> str:
    """Return an error's code and message without what is secret in the URL."""
    message = str(error).removesuffix(error.detail).rstrip()
    quotes = isinstance(error, _MAY_QUOTE_URL) or error.detail.startswith("PostgreSQL: ")
    detail = _CAUSE_HIDDEN if quotes and not _is_clean(url) else scrubbed(error.detail, url)
    return f"{error.code}: {message} {detail}".rstrip()


def scrubbed(text: str, url: str) -> str:
    """Return a text, such as a driver's message, without what is secret in the URL."""
    for secret in sorted(_secrets(url), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _is_clean(url: str) -> bool:
    if url.startswith("sqlite:") or not ("://" in url or "@" in url):
        return True
    return bool(_CLEAN.fullmatch(url) and not _ESCAPE_BROKEN.search(url))


def _secrets(url: str) -> set[str]:
    if url.startswith("sqlite:"):
        return set()
    found = [match[2] for match in (_AUTHORITY.match(url), *_PARAMETER.finditer(url)) if match and match[2]]
    # A driver that reads a URL differently may quote a piece of the password as the port or the host.
    pieces = [piece for secret in found for piece in re.split(r"[/?#@:]", secret) if len(piece) >= PIECE_MIN]
    return {*found, *pieces, *(unquote(secret) for secret in found)}
