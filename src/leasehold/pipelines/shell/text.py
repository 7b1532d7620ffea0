"""Texts that pipelines print: counts, sizes, text from outside that is safe on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from leasehold.cli.text import count, printable, truncate

__all__ = ["LISTED_MAX", "count", "counts_text", "listed", "one_line", "printable", "size_text"]

LISTED_MAX: Final = 20


def counts_text(counts: Mapping[str, int], empty: str = "nothing planned") -> str:
    """Return counts by label: 12 downloaded, 1 failed."""
    return ", ".join(f"{number:,} {label}" for label, number in counts.items() if number) or empty


def size_text(size: float) -> str:
    """Return a number of bytes: 4.2 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1_000:  # noqa: PLR2004 — a step of the units
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} TB"


def one_line(text: str, width: int) -> str:
    """Return the beginning of a text on one line of at most so many columns."""
    return truncate(printable(" ".join(text.split())), width)


def listed(title: str, lines: Sequence[str], more: str) -> Iterator[str]:
    """Yield a blank line, a title and the first lines; `more` names where the others are."""
    yield from ("", title)
    yield from lines[:LISTED_MAX]
    if len(lines) > LISTED_MAX:
        yield f"  … and {len(lines) - LISTED_MAX:,} more; {more}"
