"""Checking lines within limits: a block at once where nothing is wrong, a few at once, line by line where it may be.

A line of 10 GB is one problem and at most a few megabytes of memory.

The fast way must never admit what the slow way refuses. Where it is in doubt it gives the block to the slow way, which
alone finds reasons; a block without problems that is checked that way is only slower. A loop over single lines was
measured at two fifths of this rate (docs/decisions.md).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import msgspec

from leasehold.contracts.diagnostics import MESSAGE_SHOWN_MAX, Problem, Reason, clipped
from leasehold.contracts.registry import Consumer

Row = dict[str, Any]
Identity = Mapping[str, str]  # the fields that all rows of a folder have in common, such as the id of their run

ROW_BYTES_MAX: Final = 1024 * 1024
# Small enough for its rows to stay in the processor's cache while they are decoded, checked and counted.
BLOCK_BYTES: Final = 64 * 1024
_decode: Final = msgspec.json.Decoder(dict).decode
_decode_any: Final = msgspec.json.Decoder().decode
# So many lines are tried together once a block as a whole was not in order.
FEW: Final = 16
_encode: Final = msgspec.json.Encoder().encode
_BLANKS: Final = (b" ", b"\t", b"\r")
_BY_NUMBER: Final = (b"\\u0022", b"\\u003a", b"\\u003A")


def blocks(read: Callable[[int], bytes]) -> Iterator[tuple[int, bytes]]:
    """Cut what `read` returns into blocks of whole lines, each with the number of its first line.

    Of a line that is larger than its limit, the rest is dropped: it stays too large, and costs no more memory.
    """
    number, tail = 1, b""
    while piece := read(BLOCK_BYTES):
        head, end, rest = piece.rpartition(b"\n")
        if end:
            text = tail + head
            yield number, text
            number, tail = number + text.count(b"\n") + 1, rest
        elif len(tail) <= ROW_BYTES_MAX:
            tail += piece
    if tail:
        yield number, tail


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
        row = _decode_any(line)
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


@dataclass(frozen=True, slots=True)
class CheckedBlock:
    """The result of checking a block: rows that obey, with their lines, and what is wrong with the others."""

    lines: Sequence[int]
    rows: list[Row]
    refused: list[tuple[int, Problem]]
    count: int


def check_block(first: int, text: bytes, consumer: Consumer, identity: Identity | None = None) -> CheckedBlock:
    """Check whole lines, of which the first has the number `first`. Only a line feed ends one."""
    lines = text.split(b"\n")
    rows = _at_once(text, lines, consumer, identity)
    if rows is not None:
        return CheckedBlock(range(first, first + len(rows)), rows, [], len(rows))
    numbers: list[int] = []
    checked = CheckedBlock(numbers, [], [], len(lines))
    for start in range(0, len(lines), FEW):
        few, number = lines[start : start + FEW], first + start
        rows = _at_once(b"\n".join(few), few, consumer, identity)
        if rows is None:
            _one_by_one(number, few, consumer, identity, numbers, checked)
        else:
            numbers += range(number, number + len(rows))
            checked.rows.extend(rows)
    return checked


def _at_once(text: bytes, lines: list[bytes], consumer: Consumer, identity: Identity | None) -> list[Row] | None:
    """Return the rows if it is certain that all of them are in order."""
    if max(map(len, lines)) > ROW_BYTES_MAX:
        return None
    try:
        rows = list(map(_decode, lines))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not consumer.admits(rows) or _may_hold_a_field_twice(text, rows):
        return None
    if identity and not _all_of(identity, rows):
        return None
    return rows


def _may_hold_a_field_twice(text: bytes, rows: list[Row]) -> bool:
    """Return whether there may be more fields in the text than were decoded.

    Where no blank stands before a colon, each field has one `":` in the text, and so has each quote before a colon
    within a value. What was decoded and is encoded again has as many, unless a field was lost on the way or the text
    writes a quote or a colon as a number.
    """
    if any(blank in text and blank + b":" in text for blank in _BLANKS) or any(each in text for each in _BY_NUMBER):
        return True
    written = text.count(b'":')
    if written == sum(map(len, rows)) or written == _fields(rows):
        return False
    return written != _encode(rows).count(b'":')


def _fields(rows: list[Row]) -> int:
    """Count the fields of rows and of what they hold, a level at a time."""
    count = 0
    level: list[Any] = list(rows)
    while level:
        objects = [each for each in level if type(each) is dict]
        arrays = [each for each in level if type(each) is list]
        count += sum(map(len, objects))
        inner = chain(chain.from_iterable(map(dict.values, objects)), chain.from_iterable(arrays))
        level = [each for each in inner if type(each) is dict or type(each) is list]
    return count


def _all_of(identity: Identity, rows: list[Row]) -> bool:
    of = itemgetter(*identity)
    try:
        return set(map(of, rows)) == {of(identity)}
    except (KeyError, TypeError):  # a later major version may name its run in another way
        return False


def _one_by_one(
    first: int, lines: list[bytes], consumer: Consumer, identity: Identity | None, numbers: list[int], to: CheckedBlock
) -> None:
    for number, line in enumerate(lines, first):
        row = parse_row(line)
        problems = [row] if isinstance(row, Problem) else _problems_of(row, consumer, identity)
        to.refused.extend((number, problem) for problem in problems)
        if not isinstance(row, Problem) and not problems:
            numbers.append(number)
            to.rows.append(row)


def _problems_of(row: Row, consumer: Consumer, identity: Identity | None) -> list[Problem]:
    """Return what is wrong with a row: its shape, or else whose it is."""
    return consumer.problems(row) or [
        Problem(f"$.{name}", Reason.ID_FOREIGN, "it is not the one that the manifest names")
        for name, value in (identity or {}).items()
        if name in row and row[name] != value
    ]
