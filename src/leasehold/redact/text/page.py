"""A text as the patterns read it: old placeholders masked, and a lower-case ASCII shadow for quick searching.

Both have every character at the place it has in the original, so a position found in one is good in the others. Costly
patterns are tried only where a literal stands, or where a stretch without spaces and punctuation does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from leasehold.redact.text.spans import Span, masked

WORD: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


@dataclass(frozen=True, slots=True)
class Page:
    """One text, ready to be searched."""

    text: str
    shadow: str

    @classmethod
    def of(cls, text: str) -> Page:
        """Prepare a text; a character beyond ASCII, a lone surrogate too, has `?` for its shadow."""
        clean = masked(text)
        return cls(clean, clean.encode("ascii", "replace").decode("ascii").lower())


Detector = Callable[[Page], Iterable[Span]]


def places(text: str, literal: str, step: int = 1) -> Iterator[int]:
    """Yield where a literal stands; many times faster than a pattern, so every detector starts here."""
    position = text.find(literal)
    while position >= 0:
        yield position
        position = text.find(literal, position + step)


def matches(text: str, literal: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    return filter(None, (pattern.match(text, place) for place in places(text, literal)))


def start_of(text: str, place: int, characters: str, length_max: int) -> int:
    """Return where the run of some characters that ends at a place begins."""
    before = text[max(0, place - length_max) : place]
    return place - len(before) + len(before.rstrip(characters))


def end_of(pattern: re.Pattern[str], text: str, start: int, end: int = sys.maxsize) -> int:
    """Return where the match of a pattern that begins here ends; here, without one."""
    found = pattern.match(text, start, end)
    return found.end() if found else start


class Runs:
    """Finds the stretches of at least some length made of letters, digits, `_`, `-` and the characters in `more`.

    Every token has one; ordinary prose and code have few.
    """

    def __init__(self, length_min: int, more: bytes = b"") -> None:
        self._marks = bytes(code in WORD + more for code in range(256))
        self._least = b"\x01" * length_min

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where each begins and ends; a character beyond ASCII ends one."""
        marks = text.encode("ascii", "replace").translate(self._marks)
        start = marks.find(self._least)
        while start >= 0:
            end = marks.find(b"\x00", start)
            end = len(marks) if end < 0 else end
            yield start, end
            start = marks.find(self._least, end)
