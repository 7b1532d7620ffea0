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


def print_lines(lines: Iterable[str], *, error: bool = False) -> None:
    for line in lines:
        echo(line, error=error)


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
    kept = list(range(len(columns))) if width is None else _squeeze(columns, widths, width)
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


def _squeeze(columns: Sequence[Column], widths: list[int], width: int) -> list[int]:
    """Return the columns there is room for, and cut the widths of flexible ones, the widest first, until these fit."""

    def total(sizes: Sequence[int]) -> int:
        return sum(sizes[index] for index in kept) + len(GAP) * (len(kept) - 1)

    kept = list(range(len(columns)))
    least = [min(widths[index], FLEXIBLE_MIN) if columns[index].flexible else widths[index] for index in kept]
    while len(kept) > 1 and total(least) > width:
        kept.remove(max(kept, key=lambda index: (columns[index].rank, index)))
    while total(widths) > width and (wide := [index for index in kept if widths[index] > least[index]]):
        widths[max(wide, key=lambda index: widths[index])] -= 1
    return kept


def _fit(text: str, width: int, column: Column) -> str:
    shown = truncate(text, width)
    padding = " " * (width - display_width(shown))
    return padding + shown if column.right else shown + padding
