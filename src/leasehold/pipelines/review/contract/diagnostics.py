"""What the parser reports: everything that was coerced, dropped or rejected, with a reason that programs can match.

Values from a response are shown redacted; of a long value only its length is shown. A value that cannot be redacted is
not shown at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Final

from leasehold.pipelines.review.contract.result import FIELDS, TOP_OPTIONAL, TOP_REQUIRED
from leasehold.pipelines.review.limits import SHOWN_MAX
from leasehold.pipelines.shell.text import printable
from leasehold.redact import RedactionFailed, Redactor

KNOWN: Final = frozenset({*FIELDS, *TOP_REQUIRED, *TOP_OPTIONAL})
HIDDEN: Final = "(cannot be shown)"


class ReasonCode(StrEnum):
    """Why something was rejected, dropped or changed. The first eight are those of the document."""

    INVALID_JSON = "invalid_json"
    SCHEMA_MISMATCH = "schema_mismatch"
    MISSING_REQUIRED_FIELD = "missing_required_field"
    INVALID_ENUM_VALUE = "invalid_enum_value"
    INVALID_LINE_RANGE = "invalid_line_range"
    FILE_NOT_IN_CHANGED_FILES = "file_not_in_changed_files"
    INCOMPATIBLE_VERSION = "incompatible_version"
    ALL_FINDINGS_DROPPED = "all_findings_dropped"
    RESPONSE_TOO_LARGE = "response_too_large"
    DUPLICATE_KEY = "duplicate_key"
    UNKNOWN_FIELD = "unknown_field"
    DUPLICATE_ID = "duplicate_id"


@dataclass(frozen=True, slots=True)
class CoercionApplied:
    """A field of a response was normalized. `id` is None for a field of the top level, or where a finding has none."""

    kind: ClassVar = "coercion_applied"
    id: str | None
    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class FieldDropped:
    """A field that only a newer minor version knows was left out."""

    kind: ClassVar = "field_dropped"
    id: str | None
    field: str
    code: ReasonCode = ReasonCode.UNKNOWN_FIELD


@dataclass(frozen=True, slots=True)
class FindingDropped:
    """A finding was left out; `index` is its place in the response, `file` and `line` are given if they can be read."""

    kind: ClassVar = "finding_dropped"
    index: int
    code: ReasonCode
    field: str | None = None
    id: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ResponseRejected:
    """The whole response was rejected."""

    kind: ClassVar = "response_rejected"
    code: ReasonCode
    field: str | None = None


@dataclass(frozen=True, slots=True)
class ParseWarning:
    """What a person should know about an accepted response."""

    kind: ClassVar = "warning"
    code: ReasonCode


ReviewDiagnostic = CoercionApplied | FieldDropped | FindingDropped | ResponseRejected | ParseWarning


def plain(diagnostic: ReviewDiagnostic) -> dict[str, Any]:
    """Return a diagnostic as JSON-able fields."""
    return {"kind": diagnostic.kind, **asdict(diagnostic)}


def redacted(diagnostics: Iterable[ReviewDiagnostic], redactor: Redactor) -> tuple[ReviewDiagnostic, ...]:
    """Return diagnostics that may be shown. All of their texts are cleaned at once, because each call takes a while."""
    raw = list(diagnostics)
    shown = _shown({text for each in raw for text in _texts(each).values()}, redactor)
    return tuple(_with(each, {name: shown[text] for name, text in _texts(each).items()}) for each in raw)


def _with(diagnostic: Any, texts: dict[str, str]) -> ReviewDiagnostic:
    changed: ReviewDiagnostic = replace(diagnostic, **texts)
    return changed


def _texts(diagnostic: ReviewDiagnostic) -> dict[str, str]:
    """Return the fields that hold texts of a response; the name of a field of the contract is none."""
    every = {name: getattr(diagnostic, name, None) for name in ("id", "field", "old", "new", "file")}
    return {name: text for name, text in every.items() if text is not None and (name != "field" or text not in KNOWN)}


def _shown(texts: Collection[str], redactor: Redactor) -> dict[str, str]:
    """Return each text as it may be shown. As lines of one text they cannot be confused: redaction keeps line ends."""
    order = sorted(texts)
    try:
        lines = redactor.redact("\n".join(map(_line, order))).text.split("\n") if order else []
    except RedactionFailed:
        lines = [HIDDEN] * len(order)
    return dict(zip(order, lines if len(lines) == len(order) else [HIDDEN] * len(order), strict=True))


def _line(text: str) -> str:
    """Return a text on one line without anything that acts on a terminal, or its length where it is long."""
    return printable(text) if len(text) <= SHOWN_MAX else f"({len(text):,} characters)"
