"""Tables that stay readable: one line a row, cut on a terminal where they must be, whole everywhere else.

On a narrow terminal flexible columns are cut first; if that is not enough, the least important columns are left out.
Colours are added to finished cells only, and click takes them off again when the output is not a terminal.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import click

from leasehold.cli.text import display_width, printable, truncate

GAP: Final = "  "
FLEXIBLE_MIN: Final = 8
COLOURS: Final = {
    "DONE": "green",
    "RUNNING": "cyan",
    "ERROR": "red",
    "CANCELLED": "yellow",
    "ok": "green",
    "warn": "yellow",
    "wrong": "red",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `flexible` may be cut; a higher `rank` is left out earlier when there is no room."""

    title: str
    rank: int = 0
    flexible: bool = False
    right: bool = False


def echo(text: str = "", *, error: bool = False) -> None:
    """Print a line; in colours only on a terminal that wants them."""
    click.echo(text, err=error, color=False if "NO_COLOR" in os.environ else None)


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
    for line in format_table(columns, rows, terminal_width()):
        echo(line)


def terminal_width() -> int | None:
    """Return the terminal's width; None where the output is not a terminal and lines may have any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def format_table(columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int | None) -> list[str]:
    """Return the lines of a table, the head first."""
    texts = [[column.title for column in columns], *([printable(cell) for cell in row] for row in rows)]
    widths = [max(display_width(row[index]) for row in texts) for index in range(len(columns))]
    kept = list(range(len(columns)))
    if width is not None:
        kept = _keep(columns, widths, width)
        widths = _squeeze(columns, widths, kept, width)
    head, *body = ([_fit(row[index], widths[index], columns[index]) for index in kept] for row in texts)
    lines = [click.style(GAP.join(head).rstrip(), bold=True)]
    return lines + [_join(row) for row in body]


def _join(row: Sequence[str]) -> str:
    """Join cells, in colours, with nothing left blank at the end."""
    while len(row) > 1 and not row[-1].strip():
        row = row[:-1]
    return GAP.join(_colour(cell) for cell in (*row[:-1], row[-1].rstrip()))


def _keep(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """Return the columns there is room for when every flexible one is cut as far as it goes."""
    kept = list(range(len(columns)))
    while len(kept) > 1 and _total([_least(columns[index], widths[index]) for index in kept]) > width:
        kept.remove(max(kept, key=lambda index: (columns[index].rank, index)))
    return kept


def _squeeze(columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int], width: int) -> list[int]:
    """Return the widths after cutting the widest flexible columns until the rest fits."""
    found = list(widths)
    flexible = [index for index in kept if columns[index].flexible]
    while _total([found[index] for index in kept]) > width:
        widest = max(flexible, key=lambda index: found[index], default=None)
        if widest is None or found[widest] <= FLEXIBLE_MIN:
            break
        found[widest] -= 1
    return found


def _least(column: Column, width: int) -> int:
    return min(width, FLEXIBLE_MIN) if column.flexible else width


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _fit(text: str, width: int, column: Column) -> str:
    shown = truncate(text, width)
    padding = " " * (width - display_width(shown))
    return padding + shown if column.right else shown + padding


def _colour(cell: str) -> str:
    colour = COLOURS.get(cell.strip())
    return cell if colour is None else click.style(cell, fg=colour)
