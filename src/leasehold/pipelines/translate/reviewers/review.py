"""The face of the reviewers: what they are asked, what they answer, and which of them review by default."""

from __future__ import annotations

from collections.abc import Callable

from leasehold.pipelines.translate.reviewers.back import BackReviewer
from leasehold.pipelines.translate.reviewers.dates import DateReviewer
from leasehold.pipelines.translate.reviewers.kept import KeptReviewer
from leasehold.pipelines.translate.reviewers.language import LanguageReviewer
from leasehold.pipelines.translate.reviewers.length import LengthReviewer
from leasehold.pipelines.translate.reviewers.marks import MarkReviewer
from leasehold.pipelines.translate.reviewers.negation import NegationReviewer
from leasehold.pipelines.translate.reviewers.nouns import Finding, Review, Reviewer, Severity, Subject
from leasehold.pipelines.translate.reviewers.numbers import NumberReviewer
from leasehold.pipelines.translate.reviewers.repeats import RepeatReviewer
from leasehold.pipelines.translate.reviewers.terms import TermReviewer
from leasehold.pipelines.translate.reviewers.untranslated import UntranslatedReviewer

__all__ = ["Finding", "Review", "Reviewer", "Severity", "Subject", "standard_reviewers"]


def standard_reviewers(back: Callable[[str], str] | None = None) -> tuple[Reviewer, ...]:
    """Return the reviewers in the order of their reports; `back` translates a candidate into the source language."""
    reviewers: tuple[Reviewer, ...] = (
        KeptReviewer(),
        NumberReviewer(),
        DateReviewer(),
        NegationReviewer(),
        LengthReviewer(),
        UntranslatedReviewer(),
        LanguageReviewer(),
        RepeatReviewer(),
        MarkReviewer(),
        TermReviewer(),
    )
    return reviewers if back is None else (*reviewers, BackReviewer(back))
