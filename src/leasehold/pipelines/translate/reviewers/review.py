"""The public names for reviewers, and which reviewers are used by default."""

from collections.abc import Callable

from leasehold.pipelines.translate.reviewers.checks.back import BackReviewer
from leasehold.pipelines.translate.reviewers.checks.dates import DateReviewer
from leasehold.pipelines.translate.reviewers.checks.kept import KeptReviewer
from leasehold.pipelines.translate.reviewers.checks.language import LanguageReviewer
from leasehold.pipelines.translate.reviewers.checks.length import LengthReviewer
from leasehold.pipelines.translate.reviewers.checks.marks import MarkReviewer
from leasehold.pipelines.translate.reviewers.checks.negation import NegationReviewer
from leasehold.pipelines.translate.reviewers.checks.numbers import NumberReviewer
from leasehold.pipelines.translate.reviewers.checks.repeats import RepeatReviewer
from leasehold.pipelines.translate.reviewers.checks.terms import TermReviewer
from leasehold.pipelines.translate.reviewers.checks.untranslated import UntranslatedReviewer
from leasehold.pipelines.translate.reviewers.types import Review, Reviewer, ReviewFinding, Severity, Subject

__all__ = ["Review", "ReviewFinding", "Reviewer", "Severity", "Subject", "standard_reviewers"]


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
