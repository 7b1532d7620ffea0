"""The form of a candidate: its length, and punctuation that comes in pairs.

A candidate much shorter or longer than its source has lost or invented something. Brackets are closed in order,
quotation and emphasis marks stand in even numbers. Each kind is checked only if the source keeps it balanced: a smiley
or a speech that continues in the next paragraph is the author's. Single quotation marks are apostrophes as often as not
and are left alone.
"""

import re
import unicodedata
from functools import partial
from typing import Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, STYLE, Checked, ReviewFinding, Severity, Subject
from leasehold.pipelines.translate.reviewers.text import TextSpan, prose_of

_WIDE: Final = 2.5  # letters that an ideograph stands for
_SHORT_SOURCE: Final = 20.0  # below it a ratio means little: "Yes." may become "Desde luego que sí."
# Within the inner band nothing is wrong; outside of the outer one nothing is right.
_BANDS: Final = (0.2, 0.6, 1.8, 4.0)
_SHORT_BANDS: Final = (0.05, 0.2, 5.0, 12.0)
_WORTH_A_WORD: Final = 0.5
_BRACKETS: Final = ("()", "[]", "{}", "（）", "「」", "『』", "【】")
_EVEN: Final = ('["]', "[“”„]", "[«»]", "(?<!`)`(?!`)", r"(?<!\*)\*(?!\*)", r"(?<!\*)\*\*(?!\*)", "(?<!_)__(?!_)")
_A_KIND: Final = 0.5  # of style


def check_length(subject: Subject) -> Checked:
    source, candidate = _letters(subject.source), _letters(subject.candidate)
    if not source:
        return [], {ADEQUACY: 1.0 if subject.source.split() == subject.candidate.split() else None}
    if not candidate:
        message = "The source has text, the candidate has none."
        return [ReviewFinding("empty_candidate", Severity.CRITICAL, message)], {ADEQUACY: 0.0}
    ratio = candidate / source
    score = within(ratio, _SHORT_BANDS if source < _SHORT_SOURCE else _BANDS)
    message = f"The candidate has {ratio:.2f} times the letters of its source."
    finding = ReviewFinding("too_short" if ratio < 1 else "too_long", Severity.MAJOR, message)
    return [finding] if score < _WORTH_A_WORD else [], {ADEQUACY: score}


def within(ratio: float, bands: tuple[float, float, float, float]) -> float:
    """Return 1 inside of the inner band, 0 outside of the outer one, and a straight line in between."""
    low, lower, upper, high = bands
    if ratio < lower:
        return max(0.0, (ratio - low) / (lower - low))
    return 1.0 if ratio <= upper else max(0.0, (high - ratio) / (high - upper))


def _letters(text: str) -> float:
    wide = sum(not sign.isascii() and unicodedata.east_asian_width(sign) in "WF" and sign.isalpha() for sign in text)
    return sum(map(str.isalnum, text)) + (_WIDE - 1) * wide


def check_punctuation(subject: Subject) -> Checked:
    source, text = prose_of(subject)
    measured = [alone_in for alone_in in _KINDS if alone_in(source) is None]
    alone = [span for alone_in in measured if (span := alone_in(text)) is not None]
    message = "{} has no partner."
    findings = [subject.finding_at(span, "mark_unbalanced", Severity.MINOR, message) for span in sorted(alone)]
    return findings, {STYLE: max(0.0, 1 - _A_KIND * len(alone)) if measured and text.strip() else None}


def _bracket(pair: str, text: str) -> TextSpan | None:
    """Return the first bracket that closes nothing, or the last that is not closed."""
    waiting: list[int] = []
    for found in re.finditer(f"[{re.escape(pair)}]", text):
        if found.group() == pair[0]:
            waiting.append(found.start())
        elif waiting:
            waiting.pop()
        else:
            return TextSpan(*found.span())
    return TextSpan(waiting[-1], waiting[-1] + 1) if waiting else None


def _odd(pattern: str, text: str) -> TextSpan | None:
    places = [TextSpan(*found.span()) for found in re.finditer(pattern, text)]
    return places[-1] if len(places) % 2 else None


_KINDS: Final = (*(partial(_bracket, pair) for pair in _BRACKETS), *(partial(_odd, pattern) for pattern in _EVEN))
