"""How reviewers read a text: words, sentences, protected pieces, flagged words; all with code-point spans.

Every pattern here is linear: runs are entered at their first character only and never given back. What has been read
is kept for a while, because some ten reviewers read the same few texts one after the other.
"""

import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from leasehold.pipelines.translate.reviewers.review import Subject

# Combining marks are no letters to `re`, yet they belong to the word that they stand in.
_COMBINING: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200c\u200d\u20d0-\u20ff\ufe20-\ufe2f"
)
_word: Final = re.compile(rf"[^\W\d_](?:[^\W_]|[{_COMBINING}])*+")
_stop: Final = re.compile(r"(?<![.!?…。！？؟।])[.!?…。！？؟।]++[\"'”’»)\]*_]*+(?=\s|\Z)|\n[^\S\n]*+\n")
_last_letters: Final = re.compile(r"[^\W\d_]{1,10}\Z")
_ABBREVIATIONS: Final = frozenset(
    "mr mrs ms dr st no vol fig messrs capt sr sra srta ud uds d núm mme mlle m hr fr nr bzw usw etc vs sig".split()  # noqa: SIM905
)
# Apertium flags a word: * if it does not know it, @ and # if it knows it only in part.
_flagged: Final = re.compile(rf"(?<![^\W_])[*@#]([^\W\d_](?:[^\W_]|[{_COMBINING}])*+)")
_address: Final = re.compile(r"(?<![^\W_])(?:https?://|ftp://|mailto:|www\.)[^\s<>\"'`(){}\[\]«»“”]++")
_variable: Final = re.compile(
    r"\{\{[^{}\n]{1,80}\}\}|\$?\{[A-Za-z0-9_.:!]{0,80}\}|%\([A-Za-z0-9_]{1,80}\)[a-z]|(?<![\w%])%[sdifrx](?![^\W_])"
)
_AFTER_AN_ADDRESS: Final = ".,;:!?*_…"
_TEXTS_KEPT: Final = 6  # of each kind: a paragraph, its translation, and both without what is no language
_THREE_LETTERS: Final = {"eng": "en", "spa": "es", "fra": "fr", "deu": "de", "por": "pt", "ita": "it", "cat": "ca"}


class TextSpan(NamedTuple):
    """Code points [start, end)."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


class Word(NamedTuple):
    """A word where it stands; `key` is what it is compared by: composed and without case."""

    key: str
    start: int
    end: int

    @property
    def span(self) -> TextSpan:
        return TextSpan(self.start, self.end)


def language_of(tag: str) -> str:
    """Return the language of a tag like `es-MX`, `zh_Hans` or `spa`."""
    first = re.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]
    return _THREE_LETTERS.get(first, first)


@functools.lru_cache(_TEXTS_KEPT)
def words_of(text: str) -> tuple[Word, ...]:
    """Return the words of a whole text, which others will read too."""
    return words_in(text)


def words_in(text: str) -> tuple[Word, ...]:
    """Return the words of a sentence or a term, which nobody else reads."""
    return tuple([Word(key_of(found.group()), found.start(), found.end()) for found in _word.finditer(text)])


def key_of(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", word).casefold()


def sentences_of(text: str) -> list[TextSpan]:
    """Divide a text where a sentence ends; a title like Mr. does not end one."""
    ends = [stop.end() for stop in _stop.finditer(text) if not _is_abbreviation(text, stop)]
    if text[ends[-1] if ends else 0 :].strip():
        ends.append(len(text))
    return [TextSpan(start, end) for start, end in pairwise([0, *ends])]


def _is_abbreviation(text: str, stop: re.Match[str]) -> bool:
    before = _last_letters.search(text, max(0, stop.start() - 10), stop.start())
    return stop.group() == "." and before is not None and before.group().lower() in _ABBREVIATIONS


def find_pieces(text: str, pieces: Iterable[str]) -> tuple[list[TextSpan], list[str]]:
    """Find each piece as often as it is listed, the longest first; return where they stand, and those that do not.

    No two of them share a character, so `**` is not also taken for two `*`. One pass for each distinct piece.
    """
    occupied = bytearray(len(text))
    spans: list[TextSpan] = []
    missing: list[str] = []
    counted = Counter(piece for piece in pieces if piece)
    for piece, count in sorted(counted.items(), key=lambda each: (-len(each[0]), each[0])):
        found = list(_free_places(text, piece, occupied, count))
        for start in found:
            occupied[start : start + len(piece)] = b"\1" * len(piece)
        spans.extend(TextSpan(start, start + len(piece)) for start in found)
        missing.extend([piece] * (count - len(found)))
    return sorted(spans), missing


def _free_places(text: str, piece: str, occupied: bytearray, count: int) -> Iterator[int]:
    start = text.find(piece)
    while start >= 0 and count:
        end = start + len(piece)
        if (hit := occupied.rfind(1, start, end)) < 0:
            yield start
            count -= 1
        start = text.find(piece, end if hit < 0 else hit + 1)


@functools.lru_cache(_TEXTS_KEPT)
def without_pieces(text: str, pieces: tuple[str, ...]) -> str:
    """Blank out what holds letters or digits and is not language, keeping every position."""
    spans, _ = find_pieces(text, (piece for piece in pieces if any(map(str.isalnum, piece))))
    rest = blanked(text, spans)
    return blanked(rest, untouchable(rest))


def untouchable(text: str) -> list[TextSpan]:
    """Return the addresses and variables of a text, which need no listing to be known."""
    return sorted([*addresses_of(text), *(TextSpan(*found.span()) for found in _variable.finditer(text))])


def addresses_of(text: str) -> Iterator[TextSpan]:
    for found in _address.finditer(text):
        yield TextSpan(found.start(), found.start() + len(found.group().rstrip(_AFTER_AN_ADDRESS)))


def blanked(text: str, spans: Iterable[TextSpan]) -> str:
    """Put blanks for these characters, so that every other keeps its position."""
    parts: list[str] = []
    start = 0
    for span in sorted(spans):
        parts += text[start : span.start], " " * (span.end - max(span.start, start))
        start = max(start, span.end)
    return "".join(parts) + text[start:]


@functools.lru_cache(_TEXTS_KEPT)
def flagged_words(source: str, candidate: str) -> tuple[TextSpan, ...]:
    """Return where the candidate has words with Apertium's flags, the flag included.

    A flag and emphasis look alike, so one counts where the source has this word without this sign before it.
    """
    in_source = Counter(found.group() for found in _flagged.finditer(source))
    known = {word.key for word in words_of(source)}
    spans = []
    for found in _flagged.finditer(candidate):
        if in_source[found.group()] > 0:
            in_source[found.group()] -= 1
        elif found.group()[0] != "*" or key_of(found[1]) in known:
            spans.append(TextSpan(*found.span()))
    return tuple(spans)


def without_flags(subject: Subject) -> str:
    """Return the candidate with a blank for each flag of a word; the words stay where they are."""
    flagged = flagged_words(subject.source, subject.candidate)
    return blanked(subject.candidate, (TextSpan(start, start + 1) for start, _ in flagged))


def prose_of(subject: Subject) -> tuple[str, str]:
    """Return source and candidate with blanks for protected pieces and flags: each word stays in its place."""
    return without_pieces(subject.source, subject.kept), without_pieces(without_flags(subject), subject.kept)


class MatchIndex:
    """Pairs the items of two texts by value, each at most once. An item may have several values.

    `used` holds the positions of the items that are paired; two indexes of the same items may share it.
    """

    def __init__(self, items: Sequence[Collection[Hashable]], used: set[int]) -> None:
        self._used = used
        self._positions: dict[Hashable, list[int]] = defaultdict(list)
        for position in reversed(range(len(items))):
            for value in items[position]:
                self._positions[value].append(position)

    def take(self, values: Iterable[Hashable]) -> int | None:
        """Return the first unused position of the first value that has one; it is used from now on."""
        for value in values:
            positions = self._positions.get(value, [])
            while positions:
                if (position := positions.pop()) not in self._used:
                    self._used.add(position)
                    return position
        return None
