"""Checking a block of lines: all at once where nothing is wrong, a few at once, line by line where something may be.

The fast way must never admit what the slow way refuses. Where it is in doubt it gives the block to the slow way, which
alone finds reasons; a block without problems that is checked that way is only slower. A loop over single lines was
measured at two fifths of this rate (docs/decisions.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import msgspec

from leasehold.contracts.consumer import Consumer
from leasehold.contracts.diagnostics import Problem, Reason
from leasehold.contracts.lines import ROW_BYTES_MAX, Block, parse_row

Row = dict[str, Any]
Identity = Mapping[str, str]  # the fields that all rows of a folder have in common, such as the id of their run

_decode: Final = msgspec.json.Decoder(dict).decode
# So many lines are tried together once a block as a whole was not in order.
FEW: Final = 16
_encode: Final = msgspec.json.Encoder().encode
_BLANKS: Final = (b" ", b"\t", b"\r")
_BY_NUMBER: Final = (b"\\u0022", b"\\u003a", b"\\u003A")


@dataclass(frozen=True, slots=True)
class CheckedBlock:
    """The result of checking a block: rows that obey, with their lines, and what is wrong with the others."""

    lines: Sequence[int]
    rows: list[Row]
    refused: list[tuple[int, Problem]]
    count: int


def check_block(block: Block, consumer: Consumer, identity: Identity | None = None) -> CheckedBlock:
    lines = block.lines
    rows = _at_once(block.text, lines, consumer, identity)
    if rows is not None:
        return CheckedBlock(range(block.first, block.first + len(rows)), rows, [], len(rows))
    numbers: list[int] = []
    sound: list[Row] = []
    refused: list[tuple[int, Problem]] = []
    for start in range(0, len(lines), FEW):
        few = lines[start : start + FEW]
        part = _few(block.first + start, few, consumer, identity)
        numbers += part.lines
        sound += part.rows
        refused += part.refused
    return CheckedBlock(numbers, sound, refused, len(lines))


def _few(first: int, lines: list[bytes], consumer: Consumer, identity: Identity | None) -> CheckedBlock:
    rows = _at_once(b"\n".join(lines), lines, consumer, identity)
    if rows is not None:
        return CheckedBlock(range(first, first + len(rows)), rows, [], len(rows))
    return _one_by_one(first, lines, consumer, identity)


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


def _one_by_one(first: int, lines: list[bytes], consumer: Consumer, identity: Identity | None) -> CheckedBlock:
    numbers: list[int] = []
    rows: list[Row] = []
    refused: list[tuple[int, Problem]] = []
    for number, line in enumerate(lines, first):
        row = parse_row(line)
        problems = [row] if isinstance(row, Problem) else _problems_of(row, consumer, identity)
        refused += ((number, problem) for problem in problems)
        if not isinstance(row, Problem) and not problems:
            numbers.append(number)
            rows.append(row)
    return CheckedBlock(numbers, rows, refused, len(lines))


def _problems_of(row: Row, consumer: Consumer, identity: Identity | None) -> list[Problem]:
    """Return what is wrong with a row: its shape, or else whose it is."""
    return consumer.problems(row) or (_foreign(row, identity) if identity else [])


def _foreign(row: Row, identity: Identity) -> list[Problem]:
    return [
        Problem(f"$.{name}", Reason.ID_FOREIGN, "it is not the one that the manifest names")
        for name, value in identity.items()
        if name in row and row[name] != value
    ]
