"""Marks that come in pairs: brackets are closed in order, quotation and emphasis marks stand in even numbers.

Each kind is checked only if the source keeps it balanced: a smiley or a speech that continues in the next paragraph is
the author's. Single quotation marks are apostrophes as often as not and are left alone.
"""

import functools
import re
from typing import Final

from leasehold.pipelines.translate.reviewers.text import TextSpan, without_marks, without_pieces
from leasehold.pipelines.translate.reviewers.types import (
    STYLE,
    Review,
    ReviewFinding,
    Severity,
    Subject,
    make_review,
    quoted,
)

_BRACKETS: Final = ("()", "[]", "{}", "（）", "「」", "『』", "【】")
_EVEN: Final = (
    '["]',
    "[“”„]",
    "[«»]",
    "(?<!`)`(?!`)",
    r"(?<!\*)\*(?!\*)",
    r"(?<!\*)\*\*(?!\*)",
    "(?<!_)__(?!_)",
)
_A_KIND: Final = 0.5  # of style


class MarkReviewer:
    """Looks for marks that have lost their partner."""

    name = "marks"

    def review(self, subject: Subject) -> Review:
        source = without_pieces(subject.source, subject.kept)
        text = without_pieces(without_marks(subject), subject.kept)
        measured = 0
        alone: list[TextSpan] = []
        for alone_in in _KINDS:
            if alone_in(source) is None:
                measured += 1
                mark = alone_in(text)
                alone += [mark] if mark else []
        findings = [_finding(subject, span) for span in sorted(alone)]
        is_measured = measured and text.strip()
        return make_review(self.name, findings, {STYLE: max(0.0, 1 - _A_KIND * len(alone)) if is_measured else None})


def _bracket(pair: str, text: str) -> TextSpan | None:
    """Return the first bracket that closes nothing, or the last that is not closed."""
    waiting: list[int] = []
    for found in re.finditer(f"[{re.escape(pair)}]", text):
        if found.group() == pair[0]:
            waiting.append(found.start())
        elif waiting:
            waiting.pop()
        else:
            return TextSpan(found.start(), found.end())
    return TextSpan(waiting[-1], waiting[-1] + 1) if waiting else None


def _odd(pattern: str, text: str) -> TextSpan | None:
    places = [TextSpan(found.start(), found.end()) for found in re.finditer(pattern, text)]
    return places[-1] if len(places) % 2 else None


_KINDS: Final = tuple(
    [functools.partial(_bracket, pair) for pair in _BRACKETS] + [functools.partial(_odd, pattern) for pattern in _EVEN]
)


def _finding(subject: Subject, span: TextSpan) -> ReviewFinding:
    mark = quoted(subject.candidate[span.start : span.end])
    return ReviewFinding(
        "mark_unbalanced", Severity.MINOR, f"{mark} has no partner.", span.start, span.end - span.start
    )
