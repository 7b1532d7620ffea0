"""Messages as HTTP requests: POST of canonical JSON with the token as idempotency key, and a look-up by that token.

| answer | means |
| --- | --- |
| 2xx | taken |
| 408, 421, 425, 429, 503 with Retry-After | not processed: again later |
| 401 | the credential is for the operator to repair: again later |
| 409 that names the token | taken by an earlier try |
| any other 5xx, 1xx, 302, 303, 409 | may have been processed: a proxy or a form answers so after the work was done |
| any other 3xx or 4xx | refused |
"""

import hashlib
import hmac
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from leasehold import clock
from leasehold.errors import OptionInvalid
from leasehold.model.delivery import Absent, Message, NotSent, Refused, Sent, Unknown
from leasehold.outbound import BodyEnd, ExchangePolicy, Request, Response, Target, exchange, one_line, quoted
from leasehold.outbound.addresses import Permit, Resolver, address_of, any_address, is_public, resolve
from leasehold.providers.errors import (
    MaybeSent,
    as_delivery_error,
    as_json,
    check_timeout,
    checked_token,
    hide,
)
from leasehold.providers.limits import REPAIR_SECONDS
from leasehold.retry_after import seconds_to_wait

RESPONSE_BYTES_MAX: Final = 64 * 1024
SIGNATURE: Final = "X-Leasehold-Signature"
ID_HEADERS: Final = ("X-Message-Id", "Location")
NOT_PROCESSED: Final = {408, 421, 425, 429}
MAYBE_PROCESSED: Final = {302, 303, 409}
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE: Final = re.compile(r"[!-~](?:[ -~]{0,4000}[!-~])?")
_CREDENTIAL: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_OURS: Final = {
    "host", "connection", "content-length", "content-type", "transfer-encoding", "expect", "upgrade", "te", "trailer",
    SIGNATURE.lower(),
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Webhook:
    """A receiver of messages at a URL. Only public addresses are connected to, unless `allow_private`.

    `lookup_url` holds `{token}`: 200 with JSON `{"id": …}` means taken, 404 means certainly not taken. Without it
    nothing can be looked up, unless `idempotent`: the receiver promises to take a token once, so that sending again
    is safe and `find` returns `Absent`. `secret` signs the body: HMAC-SHA256 in X-Leasehold-Signature.
    """

    url: str
    secret: str | None = field(default=None, kw_only=True)
    lookup_url: str | None = field(default=None, kw_only=True)
    idempotent: bool = field(default=False, kw_only=True)
    header: str = field(default="Idempotency-Key", kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    timeout: float = field(default=30.0, kw_only=True)
    allow_private: bool = field(default=False, kw_only=True)
    context: ssl.SSLContext | None = field(default=None, kw_only=True)
    resolver: Resolver = field(default=resolve, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse at once what could never be sent, or to a place where nothing may be sent."""
        credentials = [value for name, value in self.headers.items() if _CREDENTIAL.search(name)]
        hide(self.secret or "", *credentials, *(value.rpartition(" ")[2] for value in credentials))
        check_timeout(self.timeout)
        self._check_headers()
        if self.lookup_url is not None and "{token}" not in self.lookup_url:
            raise OptionInvalid("A look-up URL holds {token}.")
        self._check_address(_target(self.url))
        if (lookup := self._lookup("0")) is not None:
            self._check_address(_target(lookup))

    def send(self, message: Message) -> Sent:
        """Post the message; the id is the receiver's, or the token if it names none."""
        token = checked_token(message, "header")
        body = as_json(message, "message", "recipient", "subject", "version")
        headers = {**self.headers, self.header: token, "Content-Type": "application/json"}
        if self.secret is not None:
            headers[SIGNATURE] = f"sha256={hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()}"
        return _outcome(self._exchange(self.url, Request("POST", headers, body)), token, self.header)

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:  # noqa: ARG002
        """Ask the look-up URL about the token."""
        if (url := self._lookup(message.token)) is None:
            return Absent() if self.idempotent else Unknown("The webhook has no look-up URL.")
        try:
            response = self._exchange(url, Request("GET", self.headers))
        except (NotSent, Refused, MaybeSent) as error:
            return Unknown(f"The look-up failed: {error}")
        if response.status == HTTPStatus.NOT_FOUND:
            return Absent()
        found = _id(response) if response.status == HTTPStatus.OK else ""
        return Sent(found) if found else Unknown(f"The look-up answered {response.status} without an id.")

    def __repr__(self) -> str:
        target = _target(self.url)
        return f"Webhook('{'https' if target.is_secure else 'http'}://{target.authority}/…')"

    def _lookup(self, token: str) -> str | None:
        return self.lookup_url.replace("{token}", quote(token, safe="")) if self.lookup_url is not None else None

    def _exchange(self, url: str, request: Request) -> Response:
        policy = ExchangePolicy(
            seconds=self.timeout,
            body_bytes_max=RESPONSE_BYTES_MAX,
            permit=self._permit,
            resolver=self.resolver,
            context=self.context,
        )
        with as_delivery_error():
            return exchange(_target(url), request, policy)

    @property
    def _permit(self) -> Permit:
        return any_address if self.allow_private else is_public

    def _check_address(self, target: Target) -> None:
        address = address_of(target.host)
        if address is not None and not self._permit(address):
            raise OptionInvalid("A webhook's address is public; allow_private lifts this for local use.")

    def _check_headers(self) -> None:
        for name, value in {**self.headers, self.header: "0"}.items():
            if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise OptionInvalid("A header is one line of printable ASCII.")
            if name.lower() in _OURS:
                raise OptionInvalid(f"The header {name} is not yours to set.")
        if self.header.lower() in {name.lower() for name in self.headers}:
            raise OptionInvalid(f"The header {self.header} carries the token.")


def _target(url: str) -> Target:
    try:
        return Target.parse(url)
    except ValueError as error:
        raise OptionInvalid(f"A webhook's URL: {error}.") from None


def _outcome(response: Response, token: str, header: str) -> Sent:
    """Decide what a response to a message means: the table above."""
    status = response.status
    is_known = status == HTTPStatus.CONFLICT and token in (response.headers.get(header), _fields(response).get("token"))
    if is_known or HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Sent(_id(response) or token)
    answer = f"The webhook answered {status}: {quoted(response.body)}"
    retry_after, date = (str(response.headers.get(name, "")) for name in ("Retry-After", "Date"))
    if status in NOT_PROCESSED or (status == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" in response.headers):
        wait = seconds_to_wait(retry_after, date=date, now=clock.wall() / clock.SECOND)
        raise NotSent(answer, server_retry_after=wait)
    if status == HTTPStatus.UNAUTHORIZED:
        raise NotSent(answer, retry_after=REPAIR_SECONDS)
    if status in MAYBE_PROCESSED or not HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        raise MaybeSent(answer)
    if status < HTTPStatus.BAD_REQUEST:
        raise Refused(f"The webhook redirects ({status}), and redirects are not followed; configure its final URL.")
    raise Refused(answer)


def _id(response: Response) -> str:
    named = _fields(response).get("id")
    if isinstance(named, str | int) and not isinstance(named, bool):
        return one_line(str(named))
    headers = (response.headers.get(name) for name in ID_HEADERS)
    return next((one_line(str(value)) for value in headers if value), "")


def _fields(response: Response) -> dict[str, Any]:
    """Return the fields of a JSON body; none for a body that is too long or no object."""
    try:
        fields = json.loads(b"" if response.end is BodyEnd.TOO_LONG else response.body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
