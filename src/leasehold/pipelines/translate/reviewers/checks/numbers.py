"""Numbers and dates: each of the source stands in the candidate, in the way of its language.

A number written out as a small number word or in Roman figures counts as kept; a number copied with the separators of
the source is kept too, with a note on its style, because `1,500` reads as one and a half in many languages.

Dates are judged for languages whose months are known here. A numeric date may be read day first or month first; it is
kept if any reading of it is, because `3/4/1867` does not show which was meant.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.pipelines.translate.reviewers.review import (
    ADEQUACY,
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

_FULL: Final = {
    "en": "january february march april may june july august september october november december",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "ca": "gener febrer març abril maig juny juliol agost setembre octubre novembre desembre",
}
_SHORT: Final = {
    "en": "jan=1 feb=2 mar=3 apr=4 jun=6 jul=7 aug=8 sep=9 sept=9 oct=10 nov=11 dec=12",
    "es": "setiembre=9 ene=1 feb=2 abr=4 jun=6 jul=7 ago=8 sept=9 oct=10 nov=11 dic=12",
    "de": "jänner=1",
}
MONTHS: Final = {
    language: {name: number for number, name in enumerate(names.split(), 1)}
    | {name: int(number) for name, _, number in (pair.partition("=") for pair in _SHORT.get(language, "").split())}
    for language, names in _FULL.items()
}
_WITH_CAPITAL: Final = frozenset(("en", "de"))  # in which `may` and `march` are other words
_REACH: Final = 24  # how far from its month a day or year may stand
_joint: Final = r"(?:(?:de|del|of|di|d['’]|the)\s{0,2})?"
_day_before: Final = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|er|[.ºª°]{{1,2}})?\s{{1,2}}{_joint}\Z")
_after: Final = re.compile(
    r"\.?(?:\s{1,2}(\d{1,2})(?:st|nd|rd|th)?(?!\d))?" + rf"(?:,?\s{{1,2}}(?:{_joint})(\d{{4}})(?!\d))?"
)
_numeric: Final = re.compile(r"(?<![\d./-])(?:(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})([/.])(\d{1,2})\5(\d{4}))(?![\d/-])")

Day = tuple[int, int, int]  # year, month, day; 0 where it is not given
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


class Date(NamedTuple):
    """A date where it stands, with every reading of it."""

    readings: frozenset[Day]
    span: TextSpan


def check_dates(subject: Subject) -> Checked:
    pairs, lost, added = _compared_dates(subject)
    if not pairs and not lost:
        return [], {}
    findings = [_date_finding(subject, date, added[number : number + 1]) for number, date in enumerate(lost)]
    return findings, {ADEQUACY: len(pairs) / (len(pairs) + len(lost))}


def _compared_dates(subject: Subject) -> tuple[list[tuple[TextSpan, TextSpan]], list[Date], list[Date]]:
    """Return which dates of the source stand where in the candidate, those that do not, and those that are new."""
    source, target = language_of(subject.source_language), language_of(subject.target_language)
    if source not in MONTHS or target not in MONTHS:
        return [], [], []
    there = list(dates_of(without_pieces(subject.candidate, subject.kept), target))
    used: set[int] = set()
    index = MatchIndex([date.readings for date in there], used)
    pairs, lost = [], []
    for date in dates_of(without_pieces(subject.source, subject.kept), source):
        if (place := index.take(sorted(date.readings))) is None:
            lost.append(date)
        else:
            pairs.append((date.span, there[place].span))
    return pairs, lost, [date for place, date in enumerate(there) if place not in used]


def dates_of(text: str, language: str) -> Iterator[Date]:
    """Yield the dates of a text: with a month's name first, then those in figures."""
    months = MONTHS[language]
    for word in words_of(text):
        month = months.get(word.key)
        if month and (language not in _WITH_CAPITAL or text[word.start].isupper()):
            yield from _around(text, word.start, word.end, month)
    for found in _numeric.finditer(text):
        if readings := frozenset(_readings(found)):
            yield Date(readings, TextSpan(*found.span()))


def _around(text: str, start: int, end: int, month: int) -> Iterator[Date]:
    before = _day_before.search(text, max(0, start - _REACH), start)
    after = _after.match(text, end, end + _REACH)
    after_day, year = after.groups() if after else (None, None)
    day = int(before[1] if before else after_day or 0)
    if before and after_day:
        year = None
    if (day or year) and day <= 31:  # noqa: PLR2004
        span = TextSpan(before.start() if before else start, after.end() if after and (after_day or year) else end)
        yield Date(frozenset([(int(year or 0), month, day)]), span)


def _readings(found: re.Match[str]) -> Iterator[Day]:
    year, first, second = (int(part) for part in (found.group(1, 2, 3) if found[1] else found.group(7, 4, 6)))
    orders = [(first, second)] if found[1] else [(first, second), (second, first)]
    yield from ((year, month, day) for month, day in orders if 1 <= month <= 12 and 1 <= day <= 31)  # noqa: PLR2004


def _date_finding(subject: Subject, date: Date, instead: list[Date]) -> ReviewFinding:
    wanted = quoted(date.span.of(subject.source))
    if not instead:
        return ReviewFinding("date_lost", Severity.CRITICAL, f"The date {wanted} of the source is missing.")
    message = f"The date {wanted} of the source has become {{}}."
    return subject.finding_at(instead[0].span, "date_changed", Severity.CRITICAL, message)


class Number(NamedTuple):
    """A number where it stands: what it means in its own language, and what in the others."""

    values: tuple[str, ...]
    otherwise: tuple[str, ...]
    written: str
    span: TextSpan


def check_numbers(subject: Subject) -> Checked:
    """Compare the numbers of both texts, without the dates that they share, whose month may be a word."""
    pairs, _, _ = _compared_dates(subject)
    source = blanked(without_pieces(subject.source, subject.kept), (source for source, _ in pairs))
    candidate = blanked(without_pieces(subject.candidate, subject.kept), (target for _, target in pairs))
    wanted = list(numbers_of(source, subject.source_language))
    kept, misread, lost, added = _compared_numbers(wanted, source, candidate, subject)
    if not wanted and not added:
        return [], {}
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
        figures = "".join(str(unicodedata.decimal(sign, sign)) for sign in found.group())
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


def _compared_numbers(
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
