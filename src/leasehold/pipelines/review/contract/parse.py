"""Parses a model's response: JSON, then the top level, then each finding, then the changed files.

It never raises for anything that a response holds. A response that is rejected gives no result; findings that are
dropped take no others with them; everything that was changed, dropped or rejected is among the diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from leasehold.pipelines.review.contract.diagnostics import (
    FindingDropped,
    ParseWarning,
    ReasonCode,
    ResponseRejected,
    ReviewDiagnostic,
    redacted,
)
from leasehold.pipelines.review.contract.fields import Normalizer
from leasehold.pipelines.review.contract.findings import FindingValidator
from leasehold.pipelines.review.contract.reconcile import ChangedPaths, reconciled
from leasehold.pipelines.review.contract.result import ReviewResult
from leasehold.pipelines.review.contract.strict_json import read_json
from leasehold.pipelines.review.contract.top_level import TopLevel, read_top_level
from leasehold.pipelines.review.contract.versions import ExpectedVersions
from leasehold.redact import Redactor


@dataclass(frozen=True, slots=True)
class ParsedReview:
    """What became of a response; no result if it was rejected."""

    result: ReviewResult | None
    diagnostics: tuple[ReviewDiagnostic, ...]


def parse_review(
    response: str | bytes,
    changed_files: Iterable[str],
    expected: ExpectedVersions,
    redactor: Redactor | None = None,
) -> ParsedReview:
    """Parse one response to a prompt about some changed files. `redactor` cleans what the diagnostics show."""
    diagnostics: list[ReviewDiagnostic] = []
    normalizer = Normalizer(diagnostics)
    value = read_json(response)
    if not isinstance(value, ResponseRejected):
        value = read_top_level(value, expected, normalizer, diagnostics)
    result = None
    if isinstance(value, ResponseRejected):
        diagnostics.append(value)
    else:
        result = _result(value, ChangedPaths(changed_files), expected, normalizer, diagnostics)
    return ParsedReview(result, redacted(diagnostics, redactor or _default_redactor()))


def _result(
    top: TopLevel,
    changed: ChangedPaths,
    expected: ExpectedVersions,
    normalizer: Normalizer,
    diagnostics: list[ReviewDiagnostic],
) -> ReviewResult:
    is_newer = expected.is_newer_schema(top.schema_version)
    validator = FindingValidator(normalizer, diagnostics, is_newer=is_newer)
    valid = list(validator.validate_all(top.findings))
    findings = tuple(reconciled(valid, changed, validator, normalizer))
    if not findings and any(isinstance(found, FindingDropped) for found in diagnostics):
        diagnostics.append(ParseWarning(ReasonCode.ALL_FINDINGS_DROPPED))
    return ReviewResult(top.schema_version, top.prompt_version, findings, top.summary, top.meta)


@cache
def _default_redactor() -> Redactor:
    """Return a redactor with the default policy; its patterns take a moment to get ready."""
    return Redactor()
