"""Which reviewers are used by default."""

from collections.abc import Callable
from functools import partial
from typing import Final

from leasehold.pipelines.translate.reviewers.checks.form import check_length, check_punctuation
from leasehold.pipelines.translate.reviewers.checks.kept import check_kept
from leasehold.pipelines.translate.reviewers.checks.language import check_back, check_language
from leasehold.pipelines.translate.reviewers.checks.negation import check_negation
from leasehold.pipelines.translate.reviewers.checks.numbers import check_dates, check_numbers
from leasehold.pipelines.translate.reviewers.checks.words import check_repeats, check_terms, check_untranslated
from leasehold.pipelines.translate.reviewers.review import Check, StandardReviewer

_CHECKS: Final[dict[str, Check]] = {
    "kept": check_kept,
    "numbers": check_numbers,
    "dates": check_dates,
    "negation": check_negation,
    "length": check_length,
    "untranslated": check_untranslated,
    "language": check_language,
    "repeats": check_repeats,
    "punctuation": check_punctuation,
    "terms": check_terms,
}


def standard_reviewers(back: Callable[[str], str] | None = None) -> tuple[StandardReviewer, ...]:
    """Return the reviewers in the order of their reports; `back` translates a candidate into the source language."""
    checks: dict[str, Check] = _CHECKS if back is None else {**_CHECKS, "back": partial(check_back, back)}
    return tuple(StandardReviewer(name, check) for name, check in checks.items())
