"""Step 1: reads a response as strict JSON. Nothing in it is evaluated, and nothing that it holds raises out of here.

Refused: text around the object (prose, code fences, escape sequences of terminals), NaN and infinities, control
characters in strings, and what is nested deeper than the interpreter reads. An object with a key twice is read as a
`DuplicateKeys`, so that one ambiguous finding does not take the others with it.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn

from leasehold.pipelines.review.contract.diagnostics import ReasonCode, ResponseRejected
from leasehold.pipelines.review.limits import DIGITS_MAX, RESPONSE_BYTES_MAX


class DuplicateKeys(dict[str, Any]):
    """An object with a key twice: what it means is anybody's guess."""


class OverlongNumber:
    """An integer that needs more than 64 bits; it has not been read."""


def read_json(response: str | bytes) -> Any | ResponseRejected:
    """Return the value of a response, or why it is rejected."""
    if len(response) > RESPONSE_BYTES_MAX:
        return ResponseRejected(ReasonCode.RESPONSE_TOO_LARGE)
    try:
        return _decoder.decode(response.decode("utf-8") if isinstance(response, bytes) else response)
    except (ValueError, RecursionError):
        return ResponseRejected(ReasonCode.INVALID_JSON)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else DuplicateKeys(found)


def _integer(digits: str) -> int | OverlongNumber:
    return int(digits) if len(digits) <= DIGITS_MAX else OverlongNumber()


def _float(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=_float,
    parse_int=_integer,
    parse_constant=_refuse,
)


def is_storable(text: str) -> bool:
    """Return whether databases can keep a text: without NUL and without lone surrogates, which escapes can hold."""
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def has_ambiguity(value: Any) -> bool:
    """Return whether an object with a key twice, or a number that was not read, stands anywhere in a value."""
    todo = [value]
    while todo:
        match todo.pop():
            case DuplicateKeys() | OverlongNumber():
                return True
            case dict() as found:
                todo += found.values()
            case list() as found:
                todo += found
    return False
