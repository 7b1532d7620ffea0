"""One HTTP exchange with an endpoint: limited in size and in time as a whole, no redirect followed, no key shown.

What may pass by itself is `Transient` (429, 5xx, time-outs, lost connections), with the wait the server asked for;
what somebody must change is `Permanent`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from leasehold import Permanent, Transient
from leasehold.outbound import (
    BodyEnd,
    ExchangePolicy,
    OutboundError,
    Request,
    Response,
    Target,
    any_address,
    exchange,
    is_loopback,
    quoted,
)
from leasehold.pipelines.translate.translators.endpoints.endpoint import ModelAddress
from leasehold.pipelines.translate.translators.endpoints.unsupported_fields import (
    REFUSED,
    REQUESTS_MAX,
    UnsupportedFields,
    supported,
)
from leasehold.retry_after import seconds_to_wait

CONNECT_SECONDS: Final = 10.0
RESPONSE_SECONDS: Final = 300.0
RESPONSE_BYTES_MAX: Final = 4_000_000
REFUSAL_BYTES_MAX: Final = 20_000
QUOTE_LENGTH_MAX: Final = 300
OK: Final = 200
TIMED_OUT: Final = frozenset({408, 425, 429})
REMEDIES: Final = {
    400: "it does not accept this request; check the model's name and what it can do",
    401: "it does not know the key; check the variable that it is read from",
    402: "it requires payment first",
    403: "it does not allow this key to do that",
    404: "there is no such model or address; check both",
    413: "the paragraph is too long for it; divide it",
    422: "it does not accept this request; check the model's name and what it can do",
}


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """How long a connection and a whole response may take, and how long a response may be."""

    connect_seconds: float = CONNECT_SECONDS
    response_seconds: float = RESPONSE_SECONDS
    response_bytes: int = RESPONSE_BYTES_MAX


class EndpointClient:
    """Posts to one endpoint, each time over a connection of its own. For any number of threads."""

    def __init__(self, address: ModelAddress, limits: ExchangeLimits | None = None) -> None:
        self._base = address.base
        self._host = urlsplit(address.base).netloc
        self._limits = limits = limits or ExchangeLimits()
        self._policy = ExchangePolicy(
            seconds=limits.response_seconds,
            connect_seconds=limits.connect_seconds,
            body_bytes_max=limits.response_bytes,
            permit=is_loopback if address.is_loopback else any_address,
            use_proxy=True,
        )

    def ask(
        self, path: str, headers: Mapping[str, str], fields: Mapping[str, Any], unsupported: UnsupportedFields
    ) -> str:
        """Post fields and return the body of the answer; send again without those that the endpoint refuses."""
        for _ in range(REQUESTS_MAX):
            left_out = unsupported.names
            response = self.post(path, headers, msgspec.json.encode(supported(fields, left_out)))
            if response.status == OK:
                return response.body.decode("utf-8", "replace")
            if response.status not in REFUSED or not unsupported.learn_from(refusal_text(response), left_out):
                break
        raise self.refuse(response)

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Return the response, whatever its status; raise `Transient` if none came complete and in time."""
        # Nothing is unpacked: a few bytes could become more than the limit at once.
        plain = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
        request = Request("POST", plain | dict(headers), body)
        try:
            response = exchange(Target.parse(f"{self._base}{path}"), request, self._policy)
        except OutboundError as error:
            if error.is_timeout:
                raise self._timed_out() from None
            raise self._transient(f"could not be reached: {quoted(error)}", "ENDPOINT_UNREACHABLE") from None
        if response.end is BodyEnd.TIMED_OUT:
            raise self._timed_out()
        if response.end is BodyEnd.BROKEN_OFF:
            raise self._transient("closed the connection in the middle of its answer", "ENDPOINT_UNREACHABLE")
        if response.end is BodyEnd.TOO_LONG and response.status == OK:
            raise self._transient(f"answered more than {self._limits.response_bytes:,} bytes", "BAD_ANSWER")
        return response

    def refuse(self, response: Response) -> Permanent | Transient:
        headers, status, reason = response.headers, response.status, refusal_text(response)
        quote = f" It answered: {reason}" if reason else ""
        if status in TIMED_OUT or status >= 500:  # noqa: PLR2004 — the server's own troubles
            wait = seconds_to_wait(headers.get("retry-after", ""), date=headers.get("date", ""), now=time.time())
            return self._transient(f"answered {status}.{quote}", "ENDPOINT_BUSY", wait)
        if 300 <= status < 400:  # noqa: PLR2004
            host = urlsplit(headers.get("location", "")).netloc.rpartition("@")[2] or "elsewhere"
            remedy = f"it redirects to {host[:200]}, which gets neither key nor text; name the address that is right"
        else:
            remedy = REMEDIES.get(status, "it does not answer such requests")
        return Permanent(f"{self._host} answered {status}: {remedy}.{quote}", error_class="ENDPOINT_REFUSED")

    def _timed_out(self) -> Transient:
        return self._transient(f"did not answer within {self._limits.response_seconds:g} s", "ENDPOINT_TIMEOUT")

    def _transient(self, what: str, error_class: str, wait: float = 0.0) -> Transient:
        return Transient(f"{self._host} {what}", retry_after=wait, error_class=error_class)


def refusal_text(response: Response) -> str:
    """Return the reason that a refusal gives, without secrets, in one short line."""
    return quoted(response.body[:REFUSAL_BYTES_MAX], QUOTE_LENGTH_MAX)
