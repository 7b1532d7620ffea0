"""Questions to a model and their answers, whatever interface its endpoint has; the model's address and its key.

A key comes from the environment alone and goes to one host alone: a vendor's own variable to the vendor's own host,
`LEASEHOLD_TRANSLATE_KEY` to the endpoint that was named. It is registered with the redactor, so that nothing this
process logs or reports can repeat it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from leasehold import Permanent
from leasehold.errors import Misuse
from leasehold.outbound import Target, is_loopback_host
from leasehold.pipelines.translate.translators.translator import TranslatorInvalid, bad_answer
from leasehold.redact import RedactionFailed, guarded, register
from leasehold.shapes import Shape

OWN_VARIABLE: Final = "LEASEHOLD_TRANSLATE_KEY"
ADDRESS_LENGTH_MAX: Final = 2_048
_key: Final = re.compile(r"[\x21-\x7e]{6,4096}\Z")
_model: Final = re.compile(r"[A-Za-z0-9][\w./:+-]{0,199}\Z", re.ASCII)
_fenced: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)

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
        """Whether it is on this machine."""
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


def material_of(fields: Mapping[str, Any], *, redact: bool) -> str:
    """Return the fields that are not empty as JSON; with `redact`, their secrets are replaced."""
    given = {name: value for name, value in fields.items() if value}
    return msgspec.json.encode(clean(given) if redact else given).decode()


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON schema of an object that has these properties and no others."""
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


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
