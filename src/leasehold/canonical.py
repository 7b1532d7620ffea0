"""Strict JSON at the edge: one text per value, the same refusals on both databases.

`encode` checks a value before anything is written and returns canonical text (sorted keys, no spaces).
Refused: NaN and infinities, NUL, lone surrogates, integers beyond 64 bits, keys that are not strings, types that
JSON does not have, values deeper or larger than their limit. Nothing is coerced except a tuple, which is a list.
"""

import json
import math
import re
from typing import Any, Final, NoReturn

import msgspec

from leasehold.errors import PayloadInvalid, PayloadTooDeep, PayloadTooLarge

DEPTH_MAX: Final = 64
VALUE_BYTES_MAX: Final = 1024 * 1024
INTEGER_MAX: Final = 2**63 - 1

_TEXT: Final = frozenset({str})
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_LONG: Final = re.compile(rb"[0-9]{19}")
_encoder: Final = msgspec.json.Encoder(order="sorted")
_decoder: Final = msgspec.json.Decoder()

Json = Any


def encode(value: Json, *, limit: int = VALUE_BYTES_MAX) -> str:
    """Return the canonical text of `value`, or raise `PayloadInvalid` with the place and the reason."""
    text = _encode_flat(value)
    if text is None:
        _Check(limit).walk(value)
        text = _encoder.encode(value)
    if len(text) > limit:
        raise PayloadTooLarge(f"It has {len(text):,} bytes; the limit is {limit:,}.")
    return text.decode("utf-8")


def _encode_flat(value: Json) -> bytes | None:
    """Encode an object that can be seen at a glance to hold nothing that is refused; None if that takes a closer look.

    Most are: fields of JSON's own scalar types, and no trace of NUL, NaN or a long integer in the text.
    """
    if type(value) is not dict or not _TEXT.issuperset(map(type, value)):
        return None
    kinds = set(map(type, value.values()))
    if not _SCALARS.issuperset(kinds):
        return None
    try:
        text = _encoder.encode(value)
    except (ValueError, OverflowError):  # a lone surrogate; an integer too long even to be written
        return None
    is_suspect = b"\\u0000" in text or (float in kinds and b"null" in text) or (int in kinds and _LONG.search(text))
    return None if is_suspect else text


def decode(text: str | bytes) -> Json:
    """Return the value of a text that `encode` wrote."""
    return _decoder.decode(text)


def parse(text: str) -> Json:
    """Read JSON that a person or another program wrote, refusing what `encode` would refuse."""
    if len(text) > VALUE_BYTES_MAX:
        raise PayloadTooLarge(f"It has {len(text):,} characters; the limit is {VALUE_BYTES_MAX:,}.")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except RecursionError:
        raise PayloadTooDeep(f"The limit is {DEPTH_MAX} levels.") from None
    except ValueError as error:
        raise PayloadInvalid(f"It cannot be read: {error}.") from None
    _Check(VALUE_BYTES_MAX).walk(value)
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Check:
    """One walk over a value; iterative, so that hostile depth cannot exhaust the stack."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0

    def walk(self, root: Json) -> None:
        todo: list[tuple[Json, int, str]] = [(root, 1, "$")]
        while todo:
            value, depth, path = todo.pop()
            if isinstance(value, dict | list | tuple):
                if depth > DEPTH_MAX:
                    raise PayloadTooDeep(f"The limit is {DEPTH_MAX} levels; at {path[:80]}.")
                todo.extend(self._children(value, depth + 1, path))
            else:
                self._scalar(value, path)

    def _children(self, value: Json, depth: int, path: str) -> list[tuple[Json, int, str]]:
        self._grow(len(value))
        if isinstance(value, dict):
            for key in value:
                if type(key) is not str:
                    raise PayloadInvalid(f"At {path[:80]}: a key is {type(key).__name__}, not a string.")
                self._text(key, path)
            return [(child, depth, f"{path}.{key[:20]}") for key, child in value.items()]
        return [(child, depth, f"{path}[{index}]") for index, child in enumerate(value)]

    def _scalar(self, value: Json, path: str) -> None:
        kind = type(value)
        if kind is str:
            self._text(value, path)
        elif kind is int:
            if not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
                raise PayloadInvalid(f"At {path[:80]}: an integer needs more than 64 bits; pass it as a string.")
        elif kind is float:
            if not math.isfinite(value):
                raise PayloadInvalid(f"At {path[:80]}: {value} is not JSON; pass null or a string.")
        elif value is not None and kind is not bool:
            raise PayloadInvalid(f"At {path[:80]}: {kind.__name__} is not JSON; convert it first.")

    def _text(self, text: str, path: str) -> None:
        self._grow(len(text))
        if "\0" in text:
            raise PayloadInvalid(f"At {path[:80]}: a text holds NUL; remove it.")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                raise PayloadInvalid(f"At {path[:80]}: a text holds a lone surrogate; repair it.") from None

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise PayloadTooLarge(f"The limit is {self._limit:,} bytes.")
