"""Tables that stay readable: one line a row, cut on a terminal where they must be, whole everywhere else.

On a narrow terminal flexible columns are cut first; if that is not enough, the least important columns are left out.
Colours are added to finished cells only, and click takes them off again when the output is not a terminal.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click
from msgspec import to_builtins

from leasehold.cli.text import display_width, json_document, printable, truncate

T = TypeVar("T")

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
    """One column: its title, and what it shows of an item.

    One that is `flexible` may be cut; a higher `rank` is left out earlier when there is no room.
    """

    title: str
    value: Callable[[Any], object]
    rank: int = 0
    flexible: bool = False
    right: bool = False


def echo(text: str = "", *, error: bool = False) -> None:
    """Print a line; in colours only on a terminal that wants them."""
    click.echo(text, err=error, color=False if "NO_COLOR" in os.environ else None)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        echo(line)


def print_table(columns: Sequence[Column], items: Iterable[object]) -> None:
    print_lines(format_table(columns, items, terminal_width()))


def print_found(found: T, render: Callable[[T], None], *, as_json: bool) -> None:
    """Print what a command found, for programs or for people."""
    if as_json:
        echo(json_document(_plain(found)))
    else:
        render(found)


def _plain(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return [_plain(item) for item in found]
    return found.plain() if hasattr(found, "plain") else to_builtins(found)


def terminal_width() -> int | None:
    """Return the terminal's width; None where the output is not a terminal and lines may have any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def format_table(columns: Sequence[Column], items: Iterable[object], width: int | None) -> list[str]:
    """Return the lines of a table, the head first."""
    texts = [[column.title for column in columns]]
    texts += [[printable(column.value(item)) for column in columns] for item in items]
    widths = [max(display_width(row[index]) for row in texts) for index in range(len(columns))]
    kept = list(range(len(columns)))
    if width is not None:
        kept = _keep(columns, widths, width)
        widths = _squeeze(columns, widths, kept, width)
    head, *body = ([_fit(row[index], widths[index], columns[index]) for index in kept] for row in texts)
    return [click.style(GAP.join(head).rstrip(), bold=True), *map(_join, body)]


def _join(row: Sequence[str]) -> str:
    """Join cells, in colours, with nothing left blank at the end."""
    while len(row) > 1 and not row[-1].strip():
        row = row[:-1]
    cells = (*row[:-1], row[-1].rstrip())
    return GAP.join(
        click.style(cell, fg=COLOURS[name]) if (name := cell.strip()) in COLOURS else cell for cell in cells
    )


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
