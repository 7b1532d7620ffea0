"""Step 2: validates everything of a response but its findings, and rejects it whole where that is not as it must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from leasehold import canonical
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.review.contract.diagnostics import (
    FieldDropped,
    ReasonCode,
    ResponseRejected,
    ReviewDiagnostic,
)
from leasehold.pipelines.review.contract.fields import Normalizer
from leasehold.pipelines.review.contract.result import TOP_OPTIONAL, TOP_REQUIRED
from leasehold.pipelines.review.contract.strict_json import DuplicateKeys, has_ambiguity, is_storable
from leasehold.pipelines.review.contract.versions import PROMPT_FORM, SCHEMA_FORM, ExpectedVersions
from leasehold.pipelines.review.limits import FINDINGS_MAX

KNOWN: Final = (*TOP_REQUIRED, *TOP_OPTIONAL)
FORMS: Final = {"schema_version": SCHEMA_FORM, "prompt_version": PROMPT_FORM}


@dataclass(frozen=True, slots=True)
class TopLevel:
    """A response whose findings are still to be validated."""

    schema_version: str
    prompt_version: str
    findings: list[Any]
    summary: str | None
    meta: dict[str, Any] | None


def read_top_level(
    value: Any, expected: ExpectedVersions, normalizer: Normalizer, diagnostics: list[ReviewDiagnostic]
) -> TopLevel | ResponseRejected:
    """Return the top level of a response, or why it is rejected."""
    if isinstance(value, DuplicateKeys):
        return ResponseRejected(ReasonCode.DUPLICATE_KEY)
    if not isinstance(value, dict):
        return ResponseRejected(ReasonCode.SCHEMA_MISMATCH)
    fields = normalizer.normalize(value, KNOWN)
    rejected = _required(fields) or _versions(fields, expected) or _optional(fields)
    if rejected is not None:
        return rejected
    for name in sorted(value.keys() - set(KNOWN)):
        if not expected.is_newer_schema(fields["schema_version"]):
            return ResponseRejected(ReasonCode.SCHEMA_MISMATCH, name)
        diagnostics.append(FieldDropped(None, name))
    meta = _meta(fields, diagnostics)
    versions = fields["schema_version"], fields["prompt_version"]
    return TopLevel(*versions, fields["findings"], fields.get("summary"), meta)


def _required(fields: dict[str, Any]) -> ResponseRejected | None:
    for name in TOP_REQUIRED:
        if name not in fields:
            return ResponseRejected(ReasonCode.MISSING_REQUIRED_FIELD, name)
    for name, form in FORMS.items():
        if not isinstance(fields[name], str) or not form.fullmatch(fields[name]):
            return ResponseRejected(ReasonCode.SCHEMA_MISMATCH, name)
    return None


def _versions(fields: dict[str, Any], expected: ExpectedVersions) -> ResponseRejected | None:
    if not expected.admit_schema(fields["schema_version"]):
        return ResponseRejected(ReasonCode.INCOMPATIBLE_VERSION, "schema_version")
    if not expected.admit_prompt(fields["prompt_version"]):
        return ResponseRejected(ReasonCode.INCOMPATIBLE_VERSION, "prompt_version")
    return None


def _optional(fields: dict[str, Any]) -> ResponseRejected | None:
    """Return why the fields that have no closed form are not of their types."""
    if not isinstance(fields["findings"], list):
        return ResponseRejected(ReasonCode.SCHEMA_MISMATCH, "findings")
    if len(fields["findings"]) > FINDINGS_MAX:
        return ResponseRejected(ReasonCode.RESPONSE_TOO_LARGE, "findings")
    summary = fields.get("summary", "")
    if not isinstance(summary, str) or not is_storable(summary):
        return ResponseRejected(ReasonCode.SCHEMA_MISMATCH, "summary")
    if not isinstance(fields.get("meta", {}), dict):
        return ResponseRejected(ReasonCode.SCHEMA_MISMATCH, "meta")
    return None


def _meta(fields: dict[str, Any], diagnostics: list[ReviewDiagnostic]) -> dict[str, Any] | None:
    """Return `meta`, or None if it is ambiguous or could not be stored: it is not worth a rejection."""
    meta: dict[str, Any] | None = fields.get("meta")
    try:
        if meta is None or (not has_ambiguity(meta) and canonical.encode(meta)):
            return meta
    except PayloadInvalid:
        pass
    diagnostics.append(FieldDropped(None, "meta", ReasonCode.SCHEMA_MISMATCH))
    return None
