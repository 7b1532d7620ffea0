"""The gate: what follows from the reviews of one candidate. Pure: values in, a value out.

Scores. Adequacy and terminology are the lowest score that any reviewer gave: a lost number is not made good by a fine
length. Fluency and style are the mean. The composite is the mean of those that are there, by `WEIGHTS`. If nobody could
give adequacy or fluency, which every row must have, it stands as 0 and a person decides: nothing was shown.

Outcome. A critical finding, or a score below its threshold, means rework; the same failure as the time before, or the
same candidate again, is rework by a person (`human_flag`); with no attempts left it is rejected. Else it is accepted,
with notes if any finding is more than information.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.translate.reviewers.review import (
    ADEQUACY,
    FLUENCY,
    SCORE_DIGITS,
    SCORES,
    STYLE,
    TERMINOLOGY,
    Review,
    ReviewFinding,
    Severity,
)

COMPOSITE: Final = "composite"
WEIGHTS: Final = {ADEQUACY: 0.5, FLUENCY: 0.3, TERMINOLOGY: 0.1, STYLE: 0.1}
_LOWEST_COUNTS: Final = frozenset((ADEQUACY, TERMINOLOGY))
_REQUIRED: Final = (ADEQUACY, FLUENCY)


class Outcome(StrEnum):
    ACCEPT = "accept"
    ACCEPT_WITH_NOTES = "accept_with_notes"
    REWORK = "rework"
    REJECT = "reject"


class ReworkReason(StrEnum):
    """Why a candidate is not good enough; the codes of the rework queue."""

    LOW_ADEQUACY = "low_adequacy"
    LOW_FLUENCY = "low_fluency"
    TERMINOLOGY_VIOLATION = "terminology_violation"
    STYLE_VIOLATION = "style_violation"
    POLICY_VIOLATION = "policy_violation"
    HUMAN_FLAG = "human_flag"


class Priority(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


_REASONS: Final = {
    ADEQUACY: ReworkReason.LOW_ADEQUACY,
    FLUENCY: ReworkReason.LOW_FLUENCY,
    TERMINOLOGY: ReworkReason.TERMINOLOGY_VIOLATION,
    STYLE: ReworkReason.STYLE_VIOLATION,
}
_HIGH: Final = frozenset((ReworkReason.LOW_ADEQUACY, ReworkReason.POLICY_VIOLATION, ReworkReason.HUMAN_FLAG))
_MEDIUM: Final = frozenset((ReworkReason.LOW_FLUENCY, ReworkReason.TERMINOLOGY_VIOLATION))


class ThresholdsInvalid(Misuse, code="THRESHOLDS_INVALID"):
    """A threshold is a number from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least that each score must reach. The defaults are calibrated on English prose that Apertium made Spanish."""

    adequacy: float = 0.5
    fluency: float = 0.6
    terminology: float = 0.8
    style: float = 0.4
    composite: float = 0.6

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise ThresholdsInvalid(f"{field.name}: {value!r}.")

    def of(self, score: str) -> float:
        return float(getattr(self, score))


@dataclass(frozen=True, slots=True)
class Assessment:
    """The result of the reviews of one candidate. `scores` always have adequacy, fluency and composite."""

    scores: dict[str, float]
    outcome: Outcome
    reasons: tuple[ReworkReason, ...]
    priority: Priority
    findings: tuple[ReviewFinding, ...]


def assess(
    reviews: Sequence[Review],
    thresholds: Thresholds,
    *,
    earlier: Sequence[Assessment] = (),
    attempt: int,
    attempts_max: int,
    repeated: bool = False,
) -> Assessment:
    """Assess one candidate by its reviews.

    `earlier` are the assessments of this paragraph's earlier candidates, oldest first; `repeated` means that one of
    those candidates was this very text.
    """
    measured = combined(reviews)
    scores = {name: measured.get(name, 0.0) for name in SCORES if name in measured or name in _REQUIRED}
    scores[COMPOSITE] = composite(scores)
    findings = tuple(finding for review in reviews for finding in review.findings)
    reasons = _reasons(reviews, scores, thresholds)
    if any(name not in measured for name in _REQUIRED):
        reasons |= {ReworkReason.HUMAN_FLAG}
    outcome = _outcome(findings, failed=bool(reasons), exhausted=attempt >= attempts_max)
    if outcome is Outcome.REWORK and (repeated or _failed_so_before(reasons, findings, earlier)):
        reasons |= {ReworkReason.HUMAN_FLAG}
    ordered = tuple(reason for reason in ReworkReason if reason in reasons)
    return Assessment(scores, outcome, ordered, _priority(reasons, findings), findings)


def combined(reviews: Iterable[Review]) -> dict[str, float]:
    """Return each score that any reviewer gave: the lowest for adequacy and terminology, the mean for the others."""
    given: dict[str, list[float]] = {name: [] for name in SCORES}
    for review in reviews:
        for name, score in review.scores.items():
            given[name].append(score)
    return {
        name: round(min(each) if name in _LOWEST_COUNTS else math.fsum(each) / len(each), SCORE_DIGITS)
        for name, each in given.items()
        if each
    }


def composite(scores: dict[str, float]) -> float:
    """Return the mean of the scores that are there, by weight."""
    there = [name for name in SCORES if name in scores]
    weighed = math.fsum(WEIGHTS[name] * scores[name] for name in there)
    return round(weighed / math.fsum(WEIGHTS[name] for name in there), SCORE_DIGITS)


def _reasons(reviews: Sequence[Review], scores: dict[str, float], thresholds: Thresholds) -> set[ReworkReason]:
    margins = {name: scores[name] - thresholds.of(name) for name in SCORES if name in scores}
    reasons = {_REASONS[name] for name, margin in margins.items() if margin < 0}
    # A critical finding is about the score that its reviewer measures; without one, a rule was broken.
    for review in reviews:
        if any(map(_is_critical, review.findings)):
            concerns = (_REASONS[name] for name in SCORES if name in review.scores)
            reasons.add(next(concerns, ReworkReason.POLICY_VIOLATION))
    if not reasons and scores[COMPOSITE] < thresholds.composite:
        # Each score is good enough for itself: the one nearest to failing is named.
        reasons = {_REASONS[min(margins, key=lambda name: margins[name])]}
    return reasons


def _is_critical(finding: ReviewFinding) -> bool:
    return finding.severity is Severity.CRITICAL


def _outcome(findings: tuple[ReviewFinding, ...], *, failed: bool, exhausted: bool) -> Outcome:
    if failed:
        return Outcome.REJECT if exhausted else Outcome.REWORK
    is_noted = any(finding.severity is not Severity.INFO for finding in findings)
    return Outcome.ACCEPT_WITH_NOTES if is_noted else Outcome.ACCEPT


def _failed_so_before(
    reasons: set[ReworkReason], findings: tuple[ReviewFinding, ...], earlier: Sequence[Assessment]
) -> bool:
    if not earlier or not earlier[-1].reasons:
        return False
    before = earlier[-1]
    flag = {ReworkReason.HUMAN_FLAG}
    codes, codes_before = (
        {finding.code for finding in found if finding.severity is not Severity.INFO}
        for found in (findings, before.findings)
    )
    return set(before.reasons) - flag == reasons - flag and codes == codes_before


def _priority(reasons: set[ReworkReason], findings: tuple[ReviewFinding, ...]) -> Priority:
    if any(map(_is_critical, findings)):
        return Priority.CRITICAL
    if reasons & _HIGH:
        return Priority.HIGH
    return Priority.MEDIUM if reasons & _MEDIUM else Priority.LOW
