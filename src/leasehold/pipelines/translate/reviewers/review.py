"""What a reviewer is asked and what it answers.

A reviewer that cannot assess a subject (its language is not known, there is too little text, nothing of its concern
stands in it) gives no score. A score that is there was measured, never assumed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

ADEQUACY: Final = "adequacy"
FLUENCY: Final = "fluency"
TERMINOLOGY: Final = "terminology"
STYLE: Final = "style"
SCORES: Final[tuple[str, ...]] = (ADEQUACY, FLUENCY, TERMINOLOGY, STYLE)
SCORE_DIGITS: Final = 4
FINDINGS_MAX: Final = 50  # of one review; scores count everything, a reader needs no more examples
QUOTE_LENGTH_MAX: Final = 80


class Severity(StrEnum):
    """How bad a finding is. Only a critical one decides by itself."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class ReviewFinding:
    """One thing to object to; `start` and `length` are code points of the candidate: [start, start + length)."""

    code: str
    severity: Severity
    message: str
    start: int | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One paragraph and its translation, as they stand in the document.

    `kept` are the pieces of the source that must stand in the candidate unchanged, each as often as it is listed.
    """

    source: str
    candidate: str
    source_language: str
    target_language: str
    kept: tuple[str, ...]
    glossary: Mapping[str, str]

    def finding_at(self, span: tuple[int, int], code: str, severity: Severity, message: str) -> ReviewFinding:
        """Make a finding about a span of the candidate, whose text is quoted in the message in the place of `{}`."""
        start, end = span
        text = message.replace("{}", quoted(self.candidate[start:end]), 1)
        return ReviewFinding(code, severity, text, start, end - start)


@dataclass(frozen=True, slots=True)
class Review:
    """The scores and findings of one reviewer about one subject."""

    reviewer: str
    scores: Mapping[str, float]
    findings: tuple[ReviewFinding, ...]


class Reviewer(Protocol):
    """Reviews one subject. The same subject gives the same review."""

    @property
    def name(self) -> str: ...

    def review(self, subject: Subject) -> Review: ...


def messages(findings: Iterable[ReviewFinding], *, serious: bool = False) -> list[str]:
    """Return the messages of findings, the worst first; with `serious`, without mere information."""
    order = list(reversed(Severity))
    chosen = (finding for finding in findings if not serious or finding.severity is not Severity.INFO)
    return [finding.message or finding.code for finding in sorted(chosen, key=lambda each: order.index(each.severity))]


def quoted(text: str) -> str:
    """Return a piece of a text as it may stand in a message."""
    return f"“{text}”" if len(text) <= QUOTE_LENGTH_MAX else f"“{text[:QUOTE_LENGTH_MAX]}…”"


Checked = tuple[Sequence[ReviewFinding], Mapping[str, float | None]]  # findings, and scores: None if not measured
Check = Callable[[Subject], Checked]


@dataclass(frozen=True, slots=True)
class StandardReviewer:
    """A check as a reviewer: scores are rounded, findings limited."""

    name: str
    check: Check

    def review(self, subject: Subject) -> Review:
        findings, scores = self.check(subject)
        measured = {name: round(score, SCORE_DIGITS) for name, score in scores.items() if score is not None}
        return Review(self.name, measured, tuple(findings[:FINDINGS_MAX]))
