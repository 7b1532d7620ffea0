"""Back-translation: how much of the source comes back when the candidate is translated into its language again.

The score is sacrebleu's chrF of the back-translation against the source, divided by 100. It needs somebody who
translates back; what that raises goes to the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from leasehold.pipelines.translate.reviewers.text import without_marks, words_of
from leasehold.pipelines.translate.reviewers.types import (
    ADEQUACY,
    Review,
    ReviewFinding,
    Severity,
    Subject,
    make_review,
)

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF

_FAR: Final = 0.4


class BackReviewer:
    """Compares the source with the candidate translated back."""

    name = "back"

    def __init__(self, back: Callable[[str], str]) -> None:
        self._back = back

    def review(self, subject: Subject) -> Review:
        if not words_of(subject.source) or not words_of(subject.candidate):
            return make_review(self.name, [], {})
        score = _metric().sentence_score(self._back(without_marks(subject)), [subject.source]).score / 100
        findings = [_finding(score)] if score < _FAR else []
        return make_review(self.name, findings, {ADEQUACY: min(1.0, max(0.0, score))})


@functools.cache
def _metric() -> CHRF:
    # Importing it takes as long as reviewing a chapter.
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _finding(score: float) -> ReviewFinding:
    message = f"Translated back, the candidate is far from its source (chrF {100 * score:.1f})."
    return ReviewFinding("back_translation_far", Severity.MINOR, message)
