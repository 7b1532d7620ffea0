"""Numbers: each of the source stands in the candidate, with the separators of its language.

A number written out as a small number word or in Roman figures counts as kept; a number copied with the separators of
the source is kept too, with a note on its style, because `1,500` reads as one and a half in many languages.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.pipelines.translate.reviewers.checks.dates import compared
from leasehold.pipelines.translate.reviewers.review import (
    ADEQUACY,
    NOTHING,
    STYLE,
    Checked,
    ReviewFinding,
    Severity,
    Subject,
    quoted,
)
from leasehold.pipelines.translate.reviewers.text import (
    MatchIndex,
    TextSpan,
    blanked,
    language_of,
    without_pieces,
    words_of,
)

_POINT_LANGUAGES: Final = frozenset("en ja zh ko he th hi ar fa ur ga cy mt".split())  # noqa: SIM905
_COMMA_LANGUAGES: Final = frozenset(
    "es fr de pt it ca gl eu nl da sv nb nn no fi pl cs sk sl hr sr bs bg ro hu el tr ru uk be lt lv et is".split()  # noqa: SIM905
)
_POINT_REGIONS: Final = frozenset("es-mx es-us es-pr es-gt es-hn es-ni es-pa es-do es-sv de-ch it-ch de-li".split())  # noqa: SIM905
_GROUPING: Final = "'’\u00a0\u2009\u202f"
# Not the figures of H2O; but those that stand right behind a sign of a script without spaces.
_START: Final = r"(?<![\dA-Za-zÀ-ɏ])"
_token: Final = re.compile(rf"{_START}\d++(?:[.,{_GROUPING}]\d++)*+")
_spaced: Final = re.compile(rf"{_START}\d{{1,3}}(?: \d{{3}})++(?:[.,]\d++)?+(?!\d)|{_token.pattern}")
_afternoon: Final = re.compile(r"(?::\d\d)?\s?[pP]\.?\s?[mM](?![^\W_])")
_NOON: Final = 12
_NUMBER_WORDS: Final = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze",
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "pt": "zero um dois três quatro cinco seis sete oito nove dez onze doze",
    "it": "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici",
    "ca": "zero u dos tres quatre cinc sis set vuit nou deu onze dotze",
}
_OTHER_FORMS: Final = {
    "es": {"un": "1", "una": "1"}, "fr": {"une": "1"}, "de": {"ein": "1", "eine": "1"}, "pt": {"uma": "1", "duas": "2"},
    "it": {"un": "1", "una": "1"}, "ca": {"un": "1", "una": "1", "dues": "2"},
}  # fmt: skip
_roman: Final = re.compile(r"(?<!\w)(?=[IVXLCDM])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)")
_ROMAN_FIGURES: Final = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_MORNING: Final = frozenset(map(str, range(1, _NOON)))
_WRONG_SEPARATORS: Final = 0.5  # of a number in style


class Number(NamedTuple):
    """A number where it stands: what it means in its own language, and what in the others."""

    values: tuple[str, ...]
    otherwise: tuple[str, ...]
    written: str
    span: TextSpan


def check_numbers(subject: Subject) -> Checked:
    """Compare the numbers of both texts, without the dates that they share, whose month may be a word."""
    pairs, _, _ = compared(subject)
    source = blanked(without_pieces(subject.source, subject.kept), (source for source, _ in pairs))
    candidate = blanked(without_pieces(subject.candidate, subject.kept), (target for _, target in pairs))
    wanted = list(numbers_of(source, subject.source_language))
    kept, misread, lost, added = _compared(wanted, source, candidate, subject)
    if not wanted and not added:
        return NOTHING
    missing = [f"The number {quoted(number.span.of(source))} of the source is missing." for number in lost]
    findings = [ReviewFinding("number_lost", Severity.CRITICAL, message) for message in missing]
    message = "The number {} does not stand in the source."
    findings += [subject.finding_at(number.span, "number_added", Severity.MAJOR, message) for number in added]
    message = "The number {} has the separators of another language."
    findings += [subject.finding_at(number.span, "number_format", Severity.MINOR, message) for number in misread]
    style = 1 - _WRONG_SEPARATORS * len(misread) / kept if kept else None
    return findings, {ADEQUACY: kept / (len(wanted) + len(added)), STYLE: style}


def numbers_of(text: str, language: str) -> Iterator[Number]:
    pattern = _spaced if language_of(language) in _COMMA_LANGUAGES else _token
    first, others = _conventions(language)
    for found in pattern.finditer(text):
        figures = _ascii(found.group())
        values = tuple(filter(None, (_value(figures, decimal) for decimal in first)))
        otherwise = tuple(filter(None, (_value(figures, decimal) for decimal in others)))
        if values and values[0] in _MORNING and _afternoon.match(text, found.end()):
            values += (str(int(values[0]) + _NOON),)
        yield Number(values or (figures,), (*otherwise, figures), figures, TextSpan(*found.span()))


def _conventions(language: str) -> tuple[str, str]:
    """Return the decimal separators of a language, and those of the others."""
    tag = language.strip().lower().replace("_", "-")
    if tag in _POINT_REGIONS or language_of(tag) in _POINT_LANGUAGES:
        return ".", ","
    return (",", ".") if language_of(tag) in _COMMA_LANGUAGES else (".,", "")


def _ascii(figures: str) -> str:
    if figures.isascii():
        return figures
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in figures)


def _value(figures: str, decimal: str) -> str | None:
    """Return a number as whole.fraction without idle zeros, or None if it is not written in this way."""
    whole, _, fraction = figures.partition(decimal)
    groups = re.split(r"[^0-9]", whole)
    if not fraction.isdigit() and fraction:
        return None
    if len(groups) > 1 and not (len(groups[0]) <= 3 and all(2 <= len(group) <= 3 for group in groups[1:])):  # noqa: PLR2004
        return None
    whole = "".join(groups).lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _compared(
    wanted: list[Number], source: str, candidate: str, subject: Subject
) -> tuple[int, list[Number], list[Number], list[Number]]:
    """Return how many are kept; those kept with foreign separators; the lost; the added."""
    there = list(numbers_of(candidate, subject.target_language))
    used: set[int] = set()
    plain = MatchIndex([number.values for number in there], used)
    misread = MatchIndex([number.otherwise for number in there], used)
    spelled = _spelled(candidate, subject.target_language)
    foreign, lost = [], []
    for number in wanted:
        if plain.take(number.values) is not None:
            continue
        if (place := misread.take((number.written, *number.values))) is not None:
            foreign.append(there[place])
        elif not _taken(spelled, number.values):
            lost.append(number)
    in_words = _spelled(source, subject.source_language)
    left = [each for place, each in enumerate(there) if place not in used and not _taken(in_words, each.values)]
    return len(wanted) - len(lost), foreign, lost, left


def _spelled(text: str, language: str) -> Counter[str]:
    """Count the numbers that stand in a text as words or in Roman figures."""
    tongue = language_of(language)
    names = {name: str(value) for value, name in enumerate(_NUMBER_WORDS.get(tongue, "").split())}
    names |= _OTHER_FORMS.get(tongue, {})
    counted = Counter(names[word.key] for word in words_of(text) if word.key in names)
    counted.update(str(_roman_value(found.group())) for found in _roman.finditer(text))
    return counted


def _roman_value(figures: str) -> int:
    values = [_ROMAN_FIGURES[figure] for figure in figures]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def _taken(counted: Counter[str], values: tuple[str, ...]) -> bool:
    for value in values:
        if counted[value] > 0:
            counted[value] -= 1
            return True
    return False
