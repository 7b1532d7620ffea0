"""One HTTP exchange with an endpoint: limited in size and in time as a whole, no redirect followed, no key told.

What may pass by itself is `Transient` (429, 5xx, time-outs, lost connections), with the wait the server asked for;
what somebody must change is `Permanent`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from leasehold import Permanent, Transient
from leasehold.errors import Misuse
from leasehold.pipelines.translate.translators.endpoints.endpoint import Place
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid
from leasehold.redact import RedactionFailed, scrub

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 300.0
ANSWER_BYTES_MAX: Final = 4_000_000
REFUSAL_BYTES_MAX: Final = 20_000
TOLD_LENGTH_MAX: Final = 300
RETRY_AFTER_MAX: Final = 86_400.0
TIMED_OUT: Final = frozenset({408, 425, 429})
REMEDIES: Final = {
    400: "it does not take this request; check the model's name and what it can do",
    401: "it does not know the key; check the variable that it is read from",
    402: "it wants to be paid first",
    403: "it does not allow this key to do that",
    404: "there is no such model or address; check both",
    413: "the paragraph is too long for it; divide it",
    422: "it does not take this request; check the model's name and what it can do",
}


class HttpMissing(Misuse):
    """Endpoints are asked through httpx2: pip install 'leasehold[translate]'."""

    code = "HTTP_MISSING"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a connection and a whole answer may take, and how long an answer may be."""

    connect_seconds: float = CONNECT_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    answer_bytes: int = ANSWER_BYTES_MAX


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: all of it, or of a refusal as much as is worth reading."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def words(self) -> str:
        """What a refusal says, without secrets, in one short line."""
        said = re.sub(r"\s+", " ", self.body[:REFUSAL_BYTES_MAX].decode("utf-8", "replace")).strip()
        try:
            return scrub(said)[:TOLD_LENGTH_MAX]
        except RedactionFailed:
            return ""


class Wire:
    """Posts to one endpoint, each time over a connection of its own. For any threads but those of an event loop."""

    def __init__(self, place: Place, limits: Limits | None = None) -> None:
        try:
            import httpx2  # now, and not with the first paragraph
        except ImportError:
            raise HttpMissing from None
        try:
            httpx2.URL(place.base)
        except httpx2.InvalidURL:
            raise TranslatorInvalid("The address of the endpoint cannot be read.") from None
        self._place = place
        self._host = urlsplit(place.base).netloc
        self._limits = limits or Limits()

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return the reply, whatever its status; raise `Transient` when none came whole and in time."""
        import httpx2

        limits = self._limits
        try:
            return asyncio.run(asyncio.wait_for(self._exchange(path, headers, body), limits.answer_seconds))
        except (TimeoutError, httpx2.TimeoutException):
            raise self._transient(f"did not answer within {limits.answer_seconds:g} s", "ENDPOINT_TIMEOUT") from None
        except httpx2.HTTPError as error:
            raise self._transient(f"could not be asked: {type(error).__name__}", "ENDPOINT_UNREACHABLE") from None

    def refuse(self, reply: Reply) -> Permanent | Transient:
        """Return the failure that a reply other than 200 is."""
        said = f" It says: {reply.words}" if reply.words else ""
        if reply.status in TIMED_OUT or reply.status >= 500:  # noqa: PLR2004 — the server's own troubles
            wait = retry_after_of(reply.headers.get("retry-after", ""), datetime.now(UTC))
            return self._transient(f"answered {reply.status}.{said}", "ENDPOINT_BUSY", wait)
        if 300 <= reply.status < 400:  # noqa: PLR2004
            host = urlsplit(reply.headers.get("location", "")).netloc.rpartition("@")[2] or "elsewhere"
            remedy = f"it sends on to {host[:200]}, which gets neither key nor text; name the address that is right"
        else:
            remedy = REMEDIES.get(reply.status, "it does not answer such requests")
        return Permanent(f"{self._host} answered {reply.status}: {remedy}.{said}", error_class="ENDPOINT_REFUSED")

    async def _exchange(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        import httpx2

        url = f"{self._place.base}{path}"
        # Nothing is unpacked: a few bytes could become more than the limit at once.
        plain = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
        sent = plain | dict(headers)
        times = httpx2.Timeout(self._limits.answer_seconds, connect=self._limits.connect_seconds)
        # A proxy of the environment's is for other machines.
        async with (
            httpx2.AsyncClient(timeout=times, follow_redirects=False, trust_env=not self._place.is_loopback) as client,
            client.stream("POST", url, content=body, headers=sent) as response,
        ):
            return Reply(response.status_code, dict(response.headers), await self._body(response))

    async def _body(self, response: httpx2.Response) -> bytes:
        is_refusal = response.status_code != 200  # noqa: PLR2004
        read = bytearray()
        async for chunk in response.aiter_raw():
            read += chunk
            if is_refusal and len(read) > REFUSAL_BYTES_MAX:
                break
            if len(read) > self._limits.answer_bytes:
                raise self._transient(f"answered more than {self._limits.answer_bytes:,} bytes", "BAD_ANSWER")
        return bytes(read)

    def _transient(self, what: str, error_class: str, wait: float = 0.0) -> Transient:
        return Transient(f"{self._host} {what}", retry_after=wait, error_class=error_class)


def retry_after_of(header: str, now: datetime) -> float:
    """Return how many seconds a server asks to wait, given as such or as a date; 0 for what is neither."""
    header = header.strip()
    if re.fullmatch(r"[0-9]{1,10}(\.[0-9]{1,6})?", header, re.ASCII):
        return min(float(header), RETRY_AFTER_MAX)
    try:
        due = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    due = due if due.tzinfo else due.replace(tzinfo=UTC)
    return min(max((due - now).total_seconds(), 0.0), RETRY_AFTER_MAX)
