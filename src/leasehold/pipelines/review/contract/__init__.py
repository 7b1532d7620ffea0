"""The contract of a review: what a model may answer, and what becomes of an answer that is not quite that.

parse_review(response, changed_files, ExpectedVersions("1.0.0"))      → ParsedReview(result, diagnostics)
"""

from leasehold.pipelines.review.contract.diagnostics import (
    CoercionApplied,
    FieldDropped,
    FindingDropped,
    ParseWarning,
    ReasonCode,
    ResponseRejected,
    ReviewDiagnostic,
    plain,
)
from leasehold.pipelines.review.contract.parse import ParsedReview, parse_review
from leasehold.pipelines.review.contract.result import (
    SCHEMA_VERSION,
    CodeFinding,
    Confidence,
    FindingCategory,
    FindingSeverity,
    ReviewResult,
)
from leasehold.pipelines.review.contract.versions import ExpectedVersions, VersionInvalid

__all__ = [
    "SCHEMA_VERSION",
    "CodeFinding",
    "CoercionApplied",
    "Confidence",
    "ExpectedVersions",
    "FieldDropped",
    "FindingCategory",
    "FindingDropped",
    "FindingSeverity",
    "ParseWarning",
    "ParsedReview",
    "ReasonCode",
    "ResponseRejected",
    "ReviewDiagnostic",
    "ReviewResult",
    "VersionInvalid",
    "parse_review",
    "plain",
]
