"""Bytes to lines to rows, within limits: a line of 10 GB is one problem and at most a few megabytes of memory."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from leasehold.contracts.diagnostics import MESSAGE_SHOWN_MAX, Problem, Reason, clipped

ROW_BYTES_MAX: Final = 1024 * 1024
# Small enough for its rows to stay in the processor's cache while they are decoded, checked and counted.
BLOCK_BYTES: Final = 64 * 1024
_decode: Final = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines that were read together; `first` is the number of the first of them."""

    first: int
    text: bytes

    @property
    def lines(self) -> list[bytes]:
        """The lines, without their ends. Only a line feed ends one."""
        return self.text.split(b"\n")


def blocks(read: Callable[[int], bytes]) -> Iterator[Block]:
    """Cut what `read` returns into blocks of whole lines.

    Of a line that is larger than its limit, the rest is dropped: it stays too large, and costs no more memory.
    """
    number, tail = 1, b""
    while piece := read(BLOCK_BYTES):
        head, end, rest = piece.rpartition(b"\n")
        if end:
            text = tail + head
            yield Block(number, text)
            number, tail = number + text.count(b"\n") + 1, rest
        elif len(tail) <= ROW_BYTES_MAX:
            tail += piece
    if tail:
        yield Block(number, tail)


class FieldTwice(ValueError):
    """An object has two fields of one name; readers differ in which of them they use."""


def parse_row(line: bytes) -> dict[str, Any] | Problem:
    """Return the object that a line is, or why it is none."""
    if len(line) > ROW_BYTES_MAX:
        return Problem("$", Reason.ROW_TOO_LARGE, f"a row has at most {ROW_BYTES_MAX:,} bytes")
    if not line.strip():
        return Problem("$", Reason.JSON_INVALID, "it is empty")
    try:
        text = line.decode("utf-8")
        row = _decode(line)
        json.loads(text, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        return Problem("$", Reason.ENCODING_INVALID, f"byte {error.start + 1} is not UTF-8")
    except FieldTwice as error:
        return Problem("$", Reason.FIELD_DUPLICATE, str(error))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return Problem("$", Reason.JSON_INVALID, clipped(str(error), MESSAGE_SHOWN_MAX))
    return row if isinstance(row, dict) else Problem("$", Reason.VALUE_INVALID, "a row is an object")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise FieldTwice(f"{clipped(name)!r} stands twice in one object")
        found[name] = value
    return found
