"""A text as the detectors search it: quickly, and again only where it has changed.

A `Page` has old placeholders masked, and a lower-case ASCII shadow. Both have every character at its old place, so a
position found in one is good in the others. Costly patterns are tried only where a literal stands, or where a stretch
without spaces and punctuation does; the different words of a text, which are few, show which literals are not there.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from leasehold.redact.text import Span, masked

REACH_OF_CHANGE: Final = 80
LINE_REACH: Final = 600
WITHOUT_DIGITS_MIN: Final = 30  # a shorter stretch without a digit is a name
HEX: Final = re.compile(r"(?:0[xX])?(?!fc-)(?:[0-9a-f-]++|[0-9A-F-]++)")
DIGIT: Final = re.compile("[0-9]")
LETTERS: Final = bytes(code if code in b"abcdefghijklmnopqrstuvwxyz" else 32 for code in range(256))
WORD: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

Row = TypeVar("Row")


class NewPart(NamedTuple):
    """Some lines, and their different words: what has a letter and is in none of them need not be looked for."""

    start: int
    end: int
    words: str


class Stretch(NamedTuple):
    """A stretch of a text that may be a key; one of hexadecimal digits alone is a digest or a UUID."""

    start: int
    end: int
    is_hex: bool


@dataclass(frozen=True, slots=True)
class Page:
    """One text, ready to be searched: all of it, or only the parts that are new.

    A token is a stretch without spaces and punctuation that is long enough for a key, and has a digit or is longer than
    names are.
    """

    text: str
    shadow: str
    letters: bytes  # the shadow with a space in place of all that is no letter
    parts: tuple[NewPart, ...]
    words: str
    tokens: tuple[Stretch, ...]

    @classmethod
    def of(cls, text: str, changed: Iterable[tuple[int, int]] | None = None) -> Page:
        """Prepare a text; a character beyond ASCII, a lone surrogate too, has `?` for its shadow."""
        clean = masked(text)
        octets = clean.encode("ascii", "replace").lower()
        letters = octets.translate(LETTERS)
        fresh = [(0, len(text))] if changed is None else _around(text, changed)
        parts = tuple(NewPart(start, end, _words(letters[start:end])) for start, end in fresh)
        words = parts[0].words if len(parts) == 1 else "".join(part.words for part in parts)
        return cls(clean, octets.decode("ascii"), letters, parts, words, tuple(_tokens(clean, parts)))

    @property
    def is_ascii(self) -> bool:
        return self.text.isascii()

    def places(self, literal: str, step: int = 1) -> Iterator[int]:
        """Yield where a literal of lower-case letters and signs stands in what is new."""
        word = word_of(literal)
        for part in self.parts:
            place = self.shadow.find(literal, part.start, part.end) if word in part.words else -1
            while place >= 0:
                yield place
                place = self.shadow.find(literal, place + step, part.end)

    def matches(self, literal: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return filter(None, (pattern.match(self.shadow, place) for place in self.places(literal)))


class Literals(Generic[Row]):
    """A table whose rows are tried only where their literal stands; a whole one stands there as a word of its own."""

    def __init__(self, rows: Iterable[tuple[str, Row]], whole: Iterable[str] = ()) -> None:
        alone = frozenset(whole)
        self._rows = [(f" {row[0]} " if row[0] in alone else word_of(row[0]), row) for row in rows]

    def among(self, page: Page) -> list[tuple[str, Row]]:
        """Return the rows whose literal may stand in what is new."""
        words = page.words
        return [row for word, row in self._rows if word in words]


def _words(letters: bytes) -> str:
    return f" {b' '.join(set(letters.split())).decode('ascii')} "


def _tokens(text: str, parts: Iterable[NewPart]) -> Iterator[Stretch]:
    for first, last, _ in parts:
        for start, end in TOKENS.find(text, first, last):
            if DIGIT.search(text, start, end):
                yield Stretch(start, end, HEX.fullmatch(text, start, end) is not None)
            elif end - start >= WITHOUT_DIGITS_MIN:
                yield Stretch(start, end, is_hex=False)


@functools.cache
def word_of(literal: str) -> str:
    """Return the longest word of a literal; there are a few hundred literals."""
    return max(re.findall("[a-z]+", literal), key=len, default="")


def _around(text: str, changed: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the lines near what changed: what they hold may mean something else now."""
    first, last = 0, -1
    for start, end in changed:
        line_start = text.rfind("\n", max(0, start - LINE_REACH), max(0, start - REACH_OF_CHANGE))
        line_end = text.find("\n", end + REACH_OF_CHANGE, end + LINE_REACH)
        before = max(0, start - LINE_REACH) if line_start < 0 else line_start
        if before > last >= 0:
            yield first, last
            first, last = before, -1
        first = before if last < 0 else first
        last = min(len(text), end + LINE_REACH) if line_end < 0 else line_end
    if last >= 0:
        yield first, last


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

    def find(self, text: str, first: int = 0, last: int = sys.maxsize) -> Iterator[tuple[int, int]]:
        """Yield where each begins and ends; a character beyond ASCII ends one."""
        marks = text[first:last].encode("ascii", "replace").translate(self._marks)
        start = marks.find(self._least)
        while start >= 0:
            end = marks.find(b"\x00", start)
            end = len(marks) if end < 0 else end
            yield first + start, first + end
            start = marks.find(self._least, end)


TOKENS: Final = Runs(15, b"+/")
