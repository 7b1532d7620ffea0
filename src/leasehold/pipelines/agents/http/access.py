"""Who may use the server: requests to its own host, not from a web page, with its bearer token. All others end here.

This comes before the routes, so that nobody without the token learns which ones there are. There is no CORS: a browser
that follows its rules sends nothing here, and what it does send is refused.
"""

import hashlib
import hmac
import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from leasehold.pipelines.agents.http.answers import refuse
from leasehold.pipelines.agents.http.errors import HostRefused, HttpRefusal, OriginRefused, TokenRefused

SCHEME: Final = "bearer"
_port: Final = re.compile(r":[0-9]{1,5}\Z")


class AccessGuard:
    """Lets a request pass to the application, or answers it."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app = app
        self._digest = _digest(token)
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        app = self._app if refusal is None else refuse(refusal)
        await app(scope, receive, send)

    def _refusal(self, headers: Headers) -> HttpRefusal | None:
        given = headers.getlist("host")
        if len(given) != 1 or host_name(given[0]) not in self._hosts:
            return HostRefused()
        if "origin" in headers:
            return OriginRefused()
        return None if self._is_authorized(headers) else TokenRefused()

    def _is_authorized(self, headers: Headers) -> bool:
        """Compare digests, in a time that does not depend on what was sent."""
        given = headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        return hmac.compare_digest(_digest(token), self._digest) and scheme.lower() == SCHEME


def host_name(host: str) -> str:
    """Return the name that a Host header has, without the port."""
    return _port.sub("", host).lower()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
