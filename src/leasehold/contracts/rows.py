"""Rows one at a time and a file at a time: validated, written, read, or checked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leasehold import canonical
from leasehold.contracts.diagnostics import Diagnostic, FileUnreadable, Problem, Reason, RowInvalid, located
from leasehold.contracts.registry import Consumer, Registry, published
from leasehold.contracts.safe_open import opened
from leasehold.contracts.validate_blocks import ROW_BYTES_MAX, blocks, check_block
from leasehold.errors import PayloadInvalid, PayloadTooLarge


def validate(name: str, row: Any, *, registry: Registry | None = None) -> None:
    """Raise `RowInvalid` unless `row` obeys the contract of its version and can be written as strict JSON."""
    encode_row(name, row, registry=registry)


def encode_row(name: str, row: Any, *, registry: Registry | None = None) -> bytes:
    """Return the line that `row` is written as, canonical and with its end; raise `RowInvalid` if it may not be."""
    consumer = Consumer(registry or published(), name)
    try:
        text = canonical.encode(row, limit=ROW_BYTES_MAX)
    except PayloadInvalid as error:
        code = Reason.ROW_TOO_LARGE if isinstance(error, PayloadTooLarge) else Reason.VALUE_INVALID
        raise RowInvalid([located(name, None, Problem("$", code, error.detail))]) from None
    if problems := consumer.problems(row):
        raise RowInvalid([located(name, None, problem) for problem in problems])
    return text.encode("utf-8") + b"\n"


def check_rows(path: str | Path, name: str, *, registry: Registry | None = None) -> Iterator[Diagnostic]:
    """Yield what is wrong with the rows of a JSON Lines file; nothing if all of them obey."""
    consumer = Consumer(registry or published(), name)
    try:
        with opened(path) as read:
            for first, text in blocks(read):
                checked = check_block(first, text, consumer)
                yield from (located(str(path), line, problem) for line, problem in checked.refused)
    except FileUnreadable as error:
        yield located(str(path), None, error.problem)


def read_rows(path: str | Path, name: str, *, registry: Registry | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file, of every major version.

    The first block of lines in which one is refused ends it with `RowInvalid`, so what came before is in order.
    """
    consumer = Consumer(registry or published(), name)
    with opened(path) as read:
        for first, text in blocks(read):
            checked = check_block(first, text, consumer)
            if checked.refused:
                raise RowInvalid([located(str(path), line, problem) for line, problem in checked.refused])
            yield from checked.rows
