"""Protected pieces: code, addresses, tags, placeholders and emphasis markers stand in the candidate as in the source.

A piece is there or it is not, so there are findings and no score: a lost one is a breach of policy, not a degree of
quality. Addresses and placeholders are found in the source even where nobody listed them.
"""

from collections.abc import Iterator

from leasehold.pipelines.translate.reviewers.text import (
    addresses_of,
    blanked,
    pieces_standing,
    untouchable,
    without_marks,
)
from leasehold.pipelines.translate.reviewers.types import Review, ReviewFinding, Severity, Subject, make_review, quoted


class KeptReviewer:
    """Looks for what must not change."""

    name = "kept"

    def review(self, subject: Subject) -> Review:
        candidate = without_marks(subject)
        standing, missing = pieces_standing(candidate, subject.kept)
        in_source, _ = pieces_standing(subject.source, subject.kept)
        unlisted = [subject.source[start:end] for start, end in untouchable(blanked(subject.source, in_source))]
        _, more = pieces_standing(blanked(candidate, standing), unlisted)
        findings = [_lost(piece) for piece in missing + more]
        return make_review(self.name, findings + list(_foreign(subject)), {})


def _lost(piece: str) -> ReviewFinding:
    return ReviewFinding("kept_lost", Severity.CRITICAL, f"{quoted(piece)} of the source must stand here unchanged.")


def _foreign(subject: Subject) -> Iterator[ReviewFinding]:
    """An address that the source does not have was invented or damaged."""
    for start, end in addresses_of(subject.candidate):
        address = subject.candidate[start:end]
        if address not in subject.source:
            message = f"{quoted(address)} does not stand in the source."
            yield ReviewFinding("address_added", Severity.CRITICAL, message, start, end - start)
