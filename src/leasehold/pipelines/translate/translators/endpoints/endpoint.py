"""A model behind an HTTP endpoint: its address and key, questions and answers, one exchange for each.

A key comes from the environment alone and goes to one host alone: a vendor's own variable to the vendor's own host,
`LEASEHOLD_TRANSLATE_KEY` to the endpoint that was named. It is registered with the redactor, so that nothing this
process logs or reports can repeat it. An exchange is limited in size and in time as a whole, and follows no redirect.
What may pass by itself is `Transient` (429, 5xx, time-outs, lost connections), with the wait the server asked for; what
somebody must change is `Permanent`. Servers that claim the same interface support different parts of it: after a
refusal that names an optional field the same request is sent without it, a few times at most.
"""

import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from leasehold import Permanent, Transient
from leasehold.errors import Misuse, number_text
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
    is_loopback_host,
    quoted,
)
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid, bad_answer
from leasehold.redact import RedactionFailed, guarded, register
from leasehold.retry_after import seconds_to_wait
from leasehold.shapes import Shape

OWN_VARIABLE: Final = "LEASEHOLD_TRANSLATE_KEY"
ADDRESS_LENGTH_MAX: Final = 2_048
_key: Final = re.compile(r"[\x21-\x7e]{6,4096}\Z")
_model: Final = re.compile(r"[A-Za-z0-9][\w./:+-]{0,199}\Z", re.ASCII)
_fenced: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
REFUSAL_BYTES_MAX: Final = 20_000
QUOTE_LENGTH_MAX: Final = 300
RETRY_AFTER_MAX: Final = 3_600.0  # seconds; a server that asks for more is asked again after an hour
REQUESTS_MAX: Final = 5
SHAPE: Final = "response_format"
BOUNDS: Final = "bounds"
OK: Final = 200
REFUSED: Final = frozenset({400, 422})
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
_of_schema: Final = re.compile(r"(?i)response_format|json_schema|\bschema\b|grammar|maxlength|maxitems")
_bounds: Final = frozenset({"maxLength", "maxItems", "minimum", "maximum"})

T = TypeVar("T")


class KeyMissing(Misuse, code="KEY_MISSING"):
    """The endpoint wants a key, which is read from the environment alone."""


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """What to do, what to do it to, and the shape of the answer. The material is JSON: it cannot end its own quotes."""

    instructions: str
    material: str
    schema: Mapping[str, Any]
    tokens_max: int


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The text of an answer, whole, and the tokens that the endpoint counted."""

    text: str
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """A model and the base URL of its endpoint. The key is left out of its repr."""

    model: str
    base: str
    key: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        return is_loopback_host(urlsplit(self.base).hostname or "")


def address_of(model: str, base: str, vendor_base: str, vendor_variable: str) -> ModelAddress:
    """Return the address that a person named, with its key; refuse what would send a key or a text in the clear."""
    if not _model.match(model):
        raise TranslatorInvalid(f"{model[:80]!r} is no name of a model.")
    base = _checked(base or vendor_base)
    variables = (OWN_VARIABLE, vendor_variable) if base == vendor_base else (OWN_VARIABLE,)
    key = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if key is not None:
        if not _key.match(key):
            raise KeyMissing("The variable holds something else: a key has 6 to 4,096 visible ASCII characters.")
        register(key)
    address = ModelAddress(model, base, key)
    if key is None and not address.is_loopback:
        raise KeyMissing(f"Set {' or '.join(variables)} for {urlsplit(base).hostname}.")
    return address


def decoded(text: str, shape: Shape[T]) -> T:
    """Return an answer's JSON in its shape, and nothing else; a fence round all of it, as models like, is no harm."""
    fenced = _fenced.match(text)
    try:
        return shape.decode(fenced[1] if fenced else text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise bad_answer(f"The answer is not the JSON that was asked for: {error}.") from None


def clean(value: Any) -> Any:
    """Return a value whose texts have placeholders for secrets, or raise: what cannot be cleaned is not sent."""
    if isinstance(value, Mapping):
        return {clean(name): clean(inner) for name, inner in value.items()}
    if not isinstance(value, str):
        return [clean(inner) for inner in value]
    try:
        return guarded(value)
    except RedactionFailed as error:
        raise Permanent(f"Nothing was sent. {error}", error_class="REDACTION_FAILED") from None


def _checked(base: str) -> str:
    base = base.rstrip("/")
    try:
        target = Target.parse(base)
    except ValueError as error:
        raise TranslatorInvalid(f"The address of the endpoint: {error}.") from None
    if len(base) > ADDRESS_LENGTH_MAX or "?" in base:
        raise TranslatorInvalid("An endpoint's address is short and has no query; the key is no part of it.")
    if not target.is_secure and not is_loopback_host(target.host):
        raise TranslatorInvalid(f"{target.host} is another machine, so its address must begin with https://.")
    return base


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """How long a connection and a whole response may take, and how long a response may be."""

    connect_seconds: float = 10.0
    response_seconds: float = 300.0
    response_bytes: int = 4_000_000


class ModelEndpoint(ABC):
    """A model behind an endpoint, asked over a connection of its own each time. For any number of threads."""

    kind: ClassVar[str]
    base: ClassVar[str]  # the vendor's own
    variable: ClassVar[str]  # the vendor's own key
    path: ClassVar[str]
    optional: ClassVar[tuple[str, ...]]  # fields in the order of leaving them out

    def __init__(self, address: ModelAddress, limits: ExchangeLimits | None = None) -> None:
        self.name = f"{self.kind}:{address.model}"
        self.address = address
        self._unsupported: frozenset[str] = frozenset()  # only grows: threads share it
        self._host = urlsplit(address.base).netloc
        self._limits = limits = limits or ExchangeLimits()
        self._policy = ExchangePolicy(
            seconds=limits.response_seconds,
            connect_seconds=limits.connect_seconds,
            body_bytes_max=limits.response_bytes,
            permit=is_loopback if address.is_loopback else any_address,
            use_proxy=True,
        )

    @abstractmethod
    def headers(self) -> dict[str, str]: ...

    @abstractmethod
    def fields(self, question: ModelQuestion) -> dict[str, Any]: ...

    @abstractmethod
    def answer(self, body: str) -> ModelAnswer:
        """Return what a response holds, or raise `Transient` or `Permanent`."""

    def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Return the complete text of the answer, or raise `Transient` or `Permanent`; the caller checks what it holds.

        An answer that repeats the key is refused: what a translator returns is written to files.
        """
        answer = self.answer(self._send(self.fields(question)))
        if self.address.key is not None and self.address.key in answer.text:
            raise bad_answer("The answer repeats the key that it was asked with.")
        return answer

    def _send(self, fields: Mapping[str, Any]) -> str:
        """Post fields and return the body of the answer; send again without those that the endpoint refuses."""
        for _ in range(REQUESTS_MAX):
            left_out = self._unsupported
            sent = {name: value for name, value in fields.items() if name not in left_out}
            response = self._post(msgspec.json.encode(_unbounded(sent) if BOUNDS in left_out else sent))
            if response.status == OK:
                return response.body.decode("utf-8", "replace")
            if response.status not in REFUSED or not self._learn_from(refusal_text(response), left_out):
                break
        raise self._refuse(response)

    def _learn_from(self, refusal: str, left_out: frozenset[str]) -> bool:
        """Add a field that a refusal names; False if the refused request had nothing left of it to leave out."""
        is_of_schema = _of_schema.search(refusal) is not None
        for name in self.optional:
            is_named = name in refusal or (is_of_schema and name in (BOUNDS, SHAPE))
            if is_named and name not in left_out:
                self._unsupported |= {name}
                return True
        return False

    def _post(self, body: bytes) -> Response:
        """Return the response, whatever its status; raise `Transient` if none came complete and in time."""
        # Nothing is unpacked: a few bytes could become more than the limit at once.
        plain = {"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity"}
        request = Request("POST", plain | self.headers(), body)
        try:
            response = exchange(Target.parse(f"{self.address.base}{self.path}"), request, self._policy)
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

    def _refuse(self, response: Response) -> Permanent | Transient:
        headers, status, reason = response.headers, response.status, refusal_text(response)
        quote = f" It answered: {reason}" if reason else ""
        if status in TIMED_OUT or status >= 500:  # noqa: PLR2004 — the server's own troubles
            asked, date = headers.get("retry-after", ""), headers.get("date", "")
            wait = seconds_to_wait(asked, date=date, now=time.time(), seconds_max=RETRY_AFTER_MAX)
            return self._transient(f"answered {status}.{quote}", "ENDPOINT_BUSY", wait)
        if 300 <= status < 400:  # noqa: PLR2004
            host = urlsplit(headers.get("location", "")).netloc.rpartition("@")[2] or "elsewhere"
            remedy = f"it redirects to {host[:200]}, which gets neither key nor text; name the address that is right"
        else:
            remedy = REMEDIES.get(status, "it does not answer such requests")
        return Permanent(f"{self._host} answered {status}: {remedy}.{quote}", error_class="ENDPOINT_REFUSED")

    def _timed_out(self) -> Transient:
        return self._transient(
            f"did not answer within {number_text(self._limits.response_seconds)} s", "ENDPOINT_TIMEOUT"
        )

    def _transient(self, what: str, error_class: str, wait: float = 0.0) -> Transient:
        return Transient(f"{self._host} {what}", retry_after=wait, error_class=error_class)


def refusal_text(response: Response) -> str:
    """Return the reason that a refusal gives, without secrets, in one short line."""
    return quoted(response.body[:REFUSAL_BYTES_MAX], QUOTE_LENGTH_MAX)


def _unbounded(value: Any) -> Any:
    """Return a request whose schema has no bounds."""
    if isinstance(value, Mapping):
        return {name: _unbounded(inner) for name, inner in value.items() if name not in _bounds}
    return [_unbounded(inner) for inner in value] if isinstance(value, list) else value
