"""Subjects of reviews, and reviews as a reader sees them: each finding with the text that it points at."""

from leasehold.pipelines.translate.reviewers.review import Check, Review, StandardReviewer, Subject


def subject(source, candidate, *, pair="en-es", kept=(), glossary=None):
    source_language, _, target_language = pair.partition("-")
    return Subject(source, candidate, source_language, target_language, tuple(kept), glossary or {})


def reviewed(check: Check, source, candidate, **options) -> tuple[Review, list[tuple[str, str | None]]]:
    """Return the review, and each finding as its code and the text of the candidate that it points at."""
    asked = subject(source, candidate, **options)
    review = StandardReviewer("checked", check).review(asked)
    return review, [(finding.code, pointed_at(finding, candidate)) for finding in review.findings]


def pointed_at(finding, candidate):
    if finding.start is None or finding.length is None:
        return None
    assert 0 <= finding.start <= finding.start + finding.length <= len(candidate)
    return candidate[finding.start : finding.start + finding.length]
