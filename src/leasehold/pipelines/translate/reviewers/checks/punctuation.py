"""Punctuation that comes in pairs: brackets are closed in order, quotation and emphasis marks stand in even numbers.

Each kind is checked only if the source keeps it balanced: a smiley or a speech that continues in the next paragraph is
the author's. Single quotation marks are apostrophes as often as not and are left alone.
"""

import functools
import re
from typing import Final

from leasehold.pipelines.translate.reviewers.review import STYLE, Checked, Severity, Subject
from leasehold.pipelines.translate.reviewers.text import TextSpan, prose_of

_BRACKETS: Final = ("()", "[]", "{}", "（）", "「」", "『』", "【】")
_EVEN: Final = ('["]', "[“”„]", "[«»]", "(?<!`)`(?!`)", r"(?<!\*)\*(?!\*)", r"(?<!\*)\*\*(?!\*)", "(?<!_)__(?!_)")
_A_KIND: Final = 0.5  # of style


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


_KINDS: Final = tuple(
    [functools.partial(_bracket, pair) for pair in _BRACKETS] + [functools.partial(_odd, pattern) for pattern in _EVEN]
)
