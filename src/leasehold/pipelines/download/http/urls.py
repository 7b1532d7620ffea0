"""URLs in one form, so that the same address makes the same key: RFC 3986, section 6, without guessing what it means.

Scheme and host in lower case, no default port, no dot segments, no fragment, escapes in capitals and only where needed.
The order of a query and its tracking parameters are touched on request alone: to a server they may matter.
"""

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from leasehold.outbound import PORTS

URL_LENGTH_MAX: Final = 8_192
PARTS_KEPT: Final = 1_024
UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PATH_SAFE: Final = UNRESERVED | frozenset(b"/:@!$&'()*+,;=")
QUERY_SAFE: Final = PATH_SAFE | frozenset(b"?")
TRACKING: Final = re.compile(
    r"(?i:utm_[a-z_]+|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|_ga|_gl|vero_id|oly_(anon|enc)_id)\Z"
)
# What has this form, and no segment that begins with a dot, is as it should be: most addresses of a long list are.
IN_FORM: Final = re.compile(
    r"\Ahttps?://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{3}|:[1-5][0-9]{4})?/[A-Za-z0-9._~/:@!$&'()*+,;=-]*\Z"
)
_blank: Final = re.compile(r"[\x00-\x20\x7f]")
_escape: Final = re.compile(rb"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)


class UrlRefused(ValueError):
    """The text is no address that can be fetched."""


def canonical_url(url: str, *, tidy_query: bool = False) -> str:
    """Return the one form of an address; with `tidy_query`, its query sorted and without tracking parameters."""
    if len(url) <= URL_LENGTH_MAX and IN_FORM.match(url) and "/." not in url:
        return url
    parts = _split(url)
    host, port = _host(parts.hostname or ""), parts.port
    netloc = host if port is None or port == PORTS[parts.scheme] else f"{host}:{port}"
    query = _escaped(parts.query, QUERY_SAFE)
    if tidy_query:
        pairs = [part for part in parts.query.split("&") if part and not TRACKING.match(part.partition("=")[0])]
        query = "&".join(sorted(_escaped(part, QUERY_SAFE) for part in pairs))
    return urlunsplit((parts.scheme, netloc, _path(parts.path), query, ""))


# An address is parsed several times while its file is fetched, together with hundreds of others.
parts_of: Final = lru_cache(maxsize=PARTS_KEPT)(urlsplit)


def host_of(url: str) -> str:
    """Return the host of a canonical address, with its port if that is not the usual one."""
    return parts_of(url).netloc.rpartition("@")[2]


def name_of(url: str) -> str:
    """Return the last part of the path, as a person would name the file; empty if there is none."""
    raw = parts_of(url).path.rpartition("/")[2].encode("utf-8", "surrogatepass")
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), raw).decode("utf-8", "replace")


def _split(url: str) -> SplitResult:
    if len(url) > URL_LENGTH_MAX:
        raise UrlRefused(f"an address has at most {URL_LENGTH_MAX:,} characters; this has {len(url):,}")
    text = url.strip(" \t\r\n")
    if _blank.search(text):
        raise UrlRefused("an address has no blanks or control characters; write them as %20 and the like")
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 — it is read here to see whether it can be
    except ValueError as error:
        raise UrlRefused(f"it cannot be read: {error}") from None
    if parts.scheme not in PORTS:
        raise UrlRefused("an address begins with http:// or https://")
    if not parts.hostname:
        raise UrlRefused("it names no host")
    if "@" in parts.netloc:
        raise UrlRefused("it holds a user name or password, which would be kept with it; pass them with --header")
    return parts


def _host(host: str) -> str:
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError:
            raise UrlRefused(f"'{host}' is no IPv6 address") from None
    try:
        return host.rstrip(".").encode("ascii" if host.isascii() else "idna").decode("ascii").lower()
    except UnicodeError:
        raise UrlRefused(f"'{host}' is no host name") from None


def _path(path: str) -> str:
    """Escape a path alike and take out its dot segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = _escaped(path or "/", PATH_SAFE).split("/")[1:]
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if segment == "..":
            kept = kept[:-1]
        elif segment != ".":
            kept.append(segment)
            continue
        if is_last:
            kept.append("")
    return "/" + "/".join(kept)


def _escaped(text: str, safe: frozenset[int]) -> str:
    """Escape what must be, unescape what need not be, and write escapes in capitals."""

    def escaped(found: re.Match[bytes]) -> bytes:
        octet = found[2][0] if found[1] is None else int(found[1], 16)
        return bytes([octet]) if octet in (safe if found[1] is None else UNRESERVED) else b"%%%02X" % octet

    return _escape.sub(escaped, text.encode("utf-8", "surrogatepass")).decode("ascii")
