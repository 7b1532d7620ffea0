r"""Text as Apertium's programs pass it on, and back: what must not change travels as numbered blanks, `[7]`.

The programs move words but keep every blank, so placeholders, line breaks, forced terms and the characters that mean
something to Apertium (`^$/<>{}@\[]~#*+`) all travel so, by number alone: nothing that a text holds can be taken for a
command. A word that was dropped leaves its space, a word that was moved takes its own along; around each blank the
spaces of the source are put back, and elsewhere two become one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.translate.translators.translator import PLACEHOLDER

# The full stop ends the last sentence for the tagger and is taken away again, as Apertium's own formatters do. Without
# a blank at the end, the programs would wait for more behind it.
LAST_BLANK: Final = "[][0]"
TAIL: Final = f".{LAST_BLANK}"
RESERVED: Final = r"[\^$/<>{}@\\\[\]~#*+⟦⟧\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+"
BREAKS: Final = r" *[^\S ]\s*| {2,}"
_blank: Final = re.compile(r"\[([0-9]+)\]")
_artefacts: Final = re.compile(r"\[\]|[*@#]")
_closing: Final = re.compile(r"[,.;:!?)\]»”’…]")
_loose: Final = re.compile(r" +([,.;:!?])")
_touching: Final = re.compile(r"[\w⟦⟧]")
_word: Final = re.compile(r"[^\W\d_]+")
# Written as the dictionaries have it: they know don't, and not don’t.
_apostrophe: Final = re.compile(r"(?<=\w)’(?=\w)")


@dataclass(frozen=True, slots=True)
class Blank:
    """What travels as a number, and whether a space stood before and behind it.

    One that stands for a word, apart from others, may go where the words go. The rest keep their order, so that what
    opens bold print does not come behind what closes it.
    """

    text: str
    after_space: bool
    before_space: bool
    is_word: bool


@dataclass(frozen=True, slots=True)
class Stream:
    """A text on its way: what the programs are given, and what its blanks stand for."""

    text: str
    blanks: tuple[Blank, ...]


def encode(text: str, terms: Mapping[str, str]) -> Stream:
    """Return a text as the programs read it; `terms` travel as blanks and arrive as their translation."""
    blanks: list[Blank] = []
    pieces: list[str] = []
    end = 0
    for found in _kept(terms).finditer(text):
        pieces += [_apostrophe.sub("'", text[end : found.start()]), f"[{len(blanks) + 1}]"]
        end = found.end()
        before, behind = text[found.start() - 1 : found.start()], text[end : end + 1]
        is_word = bool(PLACEHOLDER.fullmatch(found[0])) and not _touching.search(before + behind)
        arrival = _arrival(found, terms)
        blanks.append(Blank(arrival, before == " ", behind == " ", is_word or arrival != found[0]))
    return Stream("".join([*pieces, _apostrophe.sub("'", text[end:]), TAIL]), tuple(blanks))


def decode(stream: Stream, output: str) -> str | None:
    """Return the translated text; None if a blank did not come back exactly once."""
    body = re.sub(r"\\(.)", r"\1", _artefacts.sub("", output.removesuffix(TAIL)))
    if not _loose.search(stream.text):
        body = _loose.sub(r"\1", body)
    gaps = _blank.split(_begun_as(stream.text, body))
    numbers = [int(number) for number in gaps[1::2]]
    if sorted(numbers) != list(range(1, len(stream.blanks) + 1)):
        return None
    ordered = (blank for blank in stream.blanks if not blank.is_word)
    came = (stream.blanks[number - 1] for number in numbers)
    return _joined(stream, gaps[::2], [blank if blank.is_word else next(ordered) for blank in came])


def pieces_of(stream: Stream) -> tuple[list[str], list[str]]:
    """Return the texts between the blanks, and what the blanks stand for: one more of the first than of the second."""
    return _blank.split(stream.text.removesuffix(TAIL))[::2], [blank.text for blank in stream.blanks]


def _kept(terms: Mapping[str, str]) -> re.Pattern[str]:
    longest_first = sorted(terms, key=lambda term: (-len(term), term))
    forced = [rf"(?P<term>(?<!\w)(?i:{'|'.join(map(re.escape, longest_first))})(?!\w))"] if terms else []
    return re.compile("|".join([PLACEHOLDER.pattern, *forced, BREAKS, RESERVED]))


def _arrival(found: re.Match[str], terms: Mapping[str, str]) -> str:
    if found.re.groups == 0 or found["term"] is None:
        return found[0]
    term = terms.get(found[0]) or next(to for source, to in terms.items() if source.lower() == found[0].lower())
    return term[:1].upper() + term[1:] if found[0][:1].isupper() else term


def _begun_as(source: str, body: str) -> str:
    """Begin in lower case what began so: the rules begin every text with a capital. A name keeps its own."""
    began, begins = _word.search(source), _word.search(body)
    if began is None or begins is None or not began[0][0].islower() or begins[0] in source:
        return body
    start = begins.start()
    return body[:start] + body[start].lower() + body[start + 1 :]


def _joined(stream: Stream, gaps: list[str], blanks: list[Blank]) -> str:
    begins_spaced = stream.text.startswith(" ")
    ends_spaced = stream.text.removesuffix(TAIL).endswith(" ")
    pieces: list[str] = []
    for number, gap in enumerate(gaps):
        lead = blanks[number - 1].before_space if number else begins_spaced
        trail = blanks[number].after_space if number < len(blanks) else ends_spaced
        pieces.append(_spaced(gap, lead=lead, trail=trail))
        if number < len(blanks):
            pieces.append(blanks[number].text)
    return "".join(pieces)


def _spaced(gap: str, *, lead: bool, trail: bool) -> str:
    if not (core := re.sub(" {2,}", " ", gap.strip(" "))):
        return " " if lead or trail else ""
    before = " " if lead and not _closing.match(core) else ""
    return f"{before}{core}{' ' if trail else ''}"
