"""Back-translation: how much of the source comes back when the candidate is translated into its language again.

The score is sacrebleu's chrF of the back-translation against the source, divided by 100. What the translator back
raises goes to the caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, NOTHING, Checked, ReviewFinding, Severity, Subject
from leasehold.pipelines.translate.reviewers.text import without_flags, words_of

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF

_FAR: Final = 0.4


def check_back(back: Callable[[str], str], subject: Subject) -> Checked:
    if not words_of(subject.source) or not words_of(subject.candidate):
        return NOTHING
    score = _metric().sentence_score(back(without_flags(subject)), [subject.source]).score / 100
    message = f"Translated back, the candidate is far from its source (chrF {100 * score:.1f})."
    findings = [ReviewFinding("back_translation_far", Severity.MINOR, message)] if score < _FAR else []
    return findings, {ADEQUACY: min(1.0, max(0.0, score))}


@functools.cache
def _metric() -> CHRF:
    # Importing it takes as long as reviewing a chapter.
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()
