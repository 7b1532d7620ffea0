"""Protected pieces: code, addresses, tags, variables and emphasis characters stand in the candidate as in the source.

A piece is there or it is not, so there are findings and no score: a lost one is a breach of policy, not a degree of
quality. Addresses and variables are found in the source even where nobody listed them.
"""

from leasehold.pipelines.translate.reviewers.review import Checked, ReviewFinding, Severity, Subject, quoted
from leasehold.pipelines.translate.reviewers.text import (
    addresses_of,
    blanked,
    pieces_standing,
    untouchable,
    without_flags,
)


def check_kept(subject: Subject) -> Checked:
    """Look for what must not change."""
    candidate = without_flags(subject)
    standing, missing = pieces_standing(candidate, subject.kept)
    in_source, _ = pieces_standing(subject.source, subject.kept)
    unlisted = [span.of(subject.source) for span in untouchable(blanked(subject.source, in_source))]
    _, more = pieces_standing(blanked(candidate, standing), unlisted)
    lost = [f"{quoted(piece)} of the source must stand here unchanged." for piece in missing + more]
    # An address that the source does not have was invented or damaged.
    added = [span for span in addresses_of(subject.candidate) if span.of(subject.candidate) not in subject.source]
    message = "{} does not stand in the source."
    findings = [ReviewFinding("kept_lost", Severity.CRITICAL, each) for each in lost]
    findings += [subject.finding_at(span, "address_added", Severity.CRITICAL, message) for span in added]
    return findings, {}
