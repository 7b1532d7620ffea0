"""Passwords in a column that its head announces: in CSV, TSV, Markdown, and tables as databases print them.

A table is lines below each other with as many cells as its head. Each is walked over once, whatever its cells hold.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Final

from leasehold.redact.classify.key_names import Key, ValueShape, kind_of
from leasehold.redact.classify.not_secret import is_listed_secret, is_prose
from leasehold.redact.page import Page, end_of
from leasehold.redact.text import Span

Part = tuple[int, int]

HEAD_REACH: Final = 500
ROW_LENGTH_MAX: Final = 4_000
DELIMITERS: Final = ("|", "\t", ",", ";")
AROUND: Final = frozenset(' |\t,;"\n\r')
CELL_NAME: Final = re.compile(r"[ \t]*\"?[A-Za-z_][A-Za-z0-9_ .()-]{0,40}\"?[ \t]*")
RULE: Final = re.compile(r"[-+|: =]{3,}")
CELLS: Final = {mark: re.compile(rf'(?:"[^"\r\n]*+"|[^"{mark}\r\n])*+') for mark in DELIMITERS}
COLUMNS_MIN: Final = 2
CELLS_MAX: Final = 40


def find_in_columns(page: Page, keys: Sequence[Key]) -> Iterator[Span]:
    """Yield the cells below the names that announce a secret."""
    done = 0
    text = page.text
    for key in keys:
        if key.start < done or not _may_be_a_cell(text, key):
            continue
        start = text.rfind("\n", max(0, key.start - HEAD_REACH), key.start) + 1
        end = text.find("\n", key.end, key.end + HEAD_REACH)
        head = text[start:end].rstrip("\r") if end > 0 else ""
        done = max(end, key.end)
        if delimiter := _delimiter(head):
            done = yield from _cells(text, head, delimiter, end)


def _may_be_a_cell(text: str, key: Key) -> bool:
    before = text[key.start - 1] if key.start else "\n"
    return before in AROUND and text[key.end : key.end + 1] in AROUND and key.kind.shape is not ValueShape.DRAWN


def _delimiter(head: str) -> str:
    """Return what parts the cells of a head, or nothing: then it is no head."""
    delimiter = next((mark for mark in DELIMITERS if mark in head), "")
    cells = _split(head, delimiter) if delimiter else []
    is_head = COLUMNS_MIN <= len(cells) <= CELLS_MAX and all(CELL_NAME.fullmatch(head, *cell) for cell in cells)
    return delimiter if is_head and (delimiter in "|\t" or not head.startswith((" ", "\t"))) else ""


def _split(row: str, delimiter: str) -> list[Part]:
    """Return where each cell stands; what is between two bars of a wiki is no cell."""
    cells = []
    position = 0
    while position <= len(row):
        end = end_of(CELLS[delimiter], row, position)
        cells.append((position, end))
        position = end + 1
    return [cell for cell in cells if cell[0] < cell[1]] if delimiter == "|" else cells


def _rows(text: str, position: int) -> Iterator[tuple[int, str]]:
    """Yield where each line below begins, and the line; rules are left out."""
    while position >= 0:
        start = position + 1
        position = text.find("\n", start)
        row = text[start : min(len(text) if position < 0 else position, start + ROW_LENGTH_MAX)].rstrip("\r")
        if not RULE.fullmatch(row):
            yield start, row


def _cells(text: str, head: str, delimiter: str, position: int) -> Generator[Span, None, int]:
    """Yield the secrets of the rows below a head; return where they end."""
    names = [head[slice(*cell)].strip(' \t"').lower().replace(" ", "_") for cell in _split(head, delimiter)]
    columns = [(number, kind_of(name)) for number, name in enumerate(names) if kind_of(name).strong or "token" in name]
    for start, row in _rows(text, position):
        cells = _split(row, delimiter)
        if len(cells) != len(names) or not row.strip():
            return start
        for number, kind in columns:
            content = row[slice(*cells[number])].strip(' \t"`')
            if _is_secret(content, head):
                first = text.find(content, start + cells[number][0])
                yield Span(first, first + len(content), kind.name or "token")
    return len(text)


def _is_secret(content: str, head: str) -> bool:
    return bool(content) and content not in head and not is_prose(content) and is_listed_secret(content, "password")
