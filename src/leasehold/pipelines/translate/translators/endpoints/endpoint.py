"""What a model is asked and answers, whatever its endpoint speaks; where it stands, and the key to it.

A key comes from the environment alone and goes to one host alone: a vendor's own variable to the vendor's own host,
`LEASEHOLD_TRANSLATE_KEY` to whichever endpoint was named. It is registered with the redactor, so that nothing this
process logs or tells can repeat it.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from leasehold import Permanent
from leasehold.errors import Misuse
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid, bad_answer
from leasehold.redact import RedactionFailed, guarded, register
from leasehold.shapes import Shape

OWN_VARIABLE: Final = "LEASEHOLD_TRANSLATE_KEY"
ADDRESS_LENGTH_MAX: Final = 2_048
KEY_LENGTH_MIN: Final = 6
_key: Final = re.compile(r"[\x21-\x7e]{6,4096}\Z")
_model: Final = re.compile(r"[A-Za-z0-9][\w./:+-]{0,199}\Z", re.ASCII)
_fenced: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)

T = TypeVar("T")


class KeyMissing(Misuse):
    """The endpoint wants a key, which is read from the environment alone."""

    code = "KEY_MISSING"


@dataclass(frozen=True, slots=True)
class Question:
    """What to do, what to do it to, and the shape of the answer. The material is JSON: it cannot end its own quotes."""

    instructions: str
    material: str
    schema: Mapping[str, Any]
    tokens_max: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, whole, and the tokens that the endpoint counted."""

    text: str
    tokens_in: int | None
    tokens_out: int | None


class Endpoint(Protocol):
    """A model that can be asked, by any number of threads."""

    name: str

    def ask(self, question: Question) -> Answer:
        """Return the answer, or raise `Transient` or `Permanent`."""


@dataclass(frozen=True, slots=True)
class Place:
    """A model and where it is asked. The key is told to nobody, and not by printing this either."""

    model: str
    base: str
    key: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        return _is_loopback(urlsplit(self.base).hostname or "")


def place_of(model: str, base: str, vendor_base: str, vendor_variable: str) -> Place:
    """Return the place that a person named, with its key; refuse what would send a key or a text in the clear."""
    if not _model.match(model):
        raise TranslatorInvalid(f"{model[:80]!r} is no name of a model.")
    base = _checked(base or vendor_base)
    variables = (OWN_VARIABLE, vendor_variable) if base == vendor_base else (OWN_VARIABLE,)
    key = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if key is not None:
        if not _key.match(key):
            raise KeyMissing("What is there is none: a key has 6 to 4,096 visible ASCII characters.")
        register(key)
    place = Place(model, base, key)
    if key is None and not place.is_loopback:
        raise KeyMissing(f"Set {' or '.join(variables)} for {urlsplit(base).hostname}.")
    return place


def keyless(place: Place, answer: Answer) -> Answer:
    """Refuse an answer that repeats the key: what a translator says is written to files."""
    if place.key is not None and place.key in answer.text:
        raise bad_answer("The answer repeats the key that it was asked with.")
    return answer


def decoded(text: str, shape: Shape[T]) -> T:
    """Return an answer's JSON in its shape, and nothing else; a fence round all of it, as models like, is no harm."""
    fenced = _fenced.match(text)
    try:
        return shape.decode(fenced[1] if fenced else text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise bad_answer(f"The answer is not the JSON that was asked for: {error}.") from None


def clean(text: str) -> str:
    """Return a text with placeholders for its secrets, or raise: what cannot be cleaned is not sent."""
    try:
        return guarded(text)
    except RedactionFailed as error:
        raise Permanent(f"Nothing was sent. {error}", error_class="REDACTION_FAILED") from None


def _checked(base: str) -> str:
    base = base.rstrip("/")
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise TranslatorInvalid("The address of the endpoint cannot be read.") from None
    if len(base) > ADDRESS_LENGTH_MAX or not host or parts.scheme not in ("http", "https"):
        raise TranslatorInvalid("An endpoint's address begins with https:// and names a host.")
    if parts.username is not None or parts.query or parts.fragment or re.search(r"[\x00-\x20\x7f]", base):
        raise TranslatorInvalid(
            "An endpoint's address has no user, query, fragment or blank; the key is no part of it."
        )
    if parts.scheme == "http" and not _is_loopback(host):
        raise TranslatorInvalid(f"{host} is another machine, so its address must begin with https://.")
    return base


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
