"""Dates: each day of the source stands in the candidate, in the way of its language.

Judged for languages whose months are known here. A numeric date may be read day first or month first; it is kept if any
reading of it is, because `3/4/1867` does not show which was meant.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.pipelines.translate.reviewers.review import (
    ADEQUACY,
    NOTHING,
    Checked,
    ReviewFinding,
    Severity,
    Subject,
    quoted,
)
from leasehold.pipelines.translate.reviewers.text import MatchIndex, TextSpan, language_of, without_pieces, words_of

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


class Date(NamedTuple):
    """A date where it stands, with every reading of it."""

    readings: frozenset[Day]
    span: TextSpan


def check_dates(subject: Subject) -> Checked:
    """Compare the dates of both texts."""
    pairs, lost, added = compared(subject)
    if not pairs and not lost:
        return NOTHING
    findings = [_finding(subject, date, added[number : number + 1]) for number, date in enumerate(lost)]
    return findings, {ADEQUACY: len(pairs) / (len(pairs) + len(lost))}


def compared(subject: Subject) -> tuple[list[tuple[TextSpan, TextSpan]], list[Date], list[Date]]:
    """Return which dates of the source stand where in the candidate, those that do not, and those that are new."""
    source, target = language_of(subject.source_language), language_of(subject.target_language)
    if source not in MONTHS or target not in MONTHS:
        return [], [], []
    there = list(dates_of(without_pieces(subject.candidate, subject.kept), target))
    used: set[int] = set()
    index = MatchIndex([date.readings for date in there], used)
    pairs, lost = [], []
    for date in dates_of(without_pieces(subject.source, subject.kept), source):
        place = index.take(sorted(date.readings))
        if place is None:
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


def _finding(subject: Subject, date: Date, instead: list[Date]) -> ReviewFinding:
    wanted = quoted(date.span.of(subject.source))
    if not instead:
        return ReviewFinding("date_lost", Severity.CRITICAL, f"The date {wanted} of the source is missing.")
    message = f"The date {wanted} of the source has become {{}}."
    return subject.finding_at(instead[0].span, "date_changed", Severity.CRITICAL, message)
