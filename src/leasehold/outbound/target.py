"""Where a request goes: an http or https URL, parsed once and strictly."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from leasehold.outbound.addresses import ascii_host

PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Target:
    """One URL in the pieces that a request is made of."""

    is_secure: bool
    host: str
    port: int
    authority: str
    path: str

    @classmethod
    def parse(cls, url: str) -> Target:
        """Parse a URL; `ValueError` for one that two parsers could understand differently. Never quotes it."""
        if not _PRINTABLE.fullmatch(url) or "\\" in url or "#" in url:
            raise ValueError("it is printable ASCII without spaces, backslashes and fragment")
        parts = urlsplit(url)
        port, host = parts.port, _host(parts)
        if parts.scheme not in PORTS or "@" in parts.netloc or port == 0:
            raise ValueError("it is http or https, has no user or password, and a port above 0")
        bracketed = f"[{host}]" if ":" in host else host
        authority = bracketed if port in {None, PORTS[parts.scheme]} else f"{bracketed}:{port}"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme == "https", host, port or PORTS[parts.scheme], authority, path)


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not parts.netloc.rpartition("@")[2].startswith("["):
        return ascii_host(host)
    if "%" in host:
        raise ValueError("an address with a zone leads to different hosts on different machines")
    return str(ipaddress.IPv6Address(host))
