"""Length: a candidate much shorter or longer than its source has lost or invented something."""

import unicodedata
from typing import Final

from leasehold.pipelines.translate.reviewers.review import ADEQUACY, Checked, ReviewFinding, Severity, Subject

_WIDE: Final = 2.5  # letters that an ideograph stands for
_SHORT_SOURCE: Final = 20.0  # below it a ratio means little: "Yes." may become "Desde luego que sí."
# Within the inner band nothing is wrong; outside of the outer one nothing is right.
_BANDS: Final = (0.2, 0.6, 1.8, 4.0)
_SHORT_BANDS: Final = (0.05, 0.2, 5.0, 12.0)
_WORTH_A_WORD: Final = 0.5


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
