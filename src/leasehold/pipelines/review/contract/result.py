"""What a reviewer answers, as values: `ReviewResult` and its findings, with the closed sets of their fields.

The published form is `schemas/review/review_result.schema.json`, version 1.0. `plain()` gives that form back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

SCHEMA_VERSION: Final = "1.0"


class FindingSeverity(StrEnum):
    """How bad it is, the worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


class FindingCategory(StrEnum):
    """What it is about."""

    CORRECTNESS = "correctness"
    SECURITY = "security"
    PERFORMANCE = "performance"
    RELIABILITY = "reliability"
    MAINTAINABILITY = "maintainability"
    STYLE = "style"
    TEST = "test"


class Confidence(StrEnum):
    """How sure the reviewer is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class CodeFinding:
    """One finding. Only what is optional may be None."""

    id: str
    severity: FindingSeverity
    category: FindingCategory
    title: str
    file: str
    line: int
    message: str
    end_line: int | None = None
    suggestion: str | None = None
    confidence: Confidence | None = None
    rule_id: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return the fields that it has, as JSON has them."""
        every = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in every.items() if value is not None}


# In the order of the document.
REQUIRED: Final = ("id", "severity", "category", "title", "file", "line", "message")
OPTIONAL: Final = ("end_line", "suggestion", "confidence", "rule_id")
FIELDS: Final = (*REQUIRED, *OPTIONAL)
ENUMS: Final[dict[str, type[StrEnum]]] = {
    "severity": FindingSeverity,
    "category": FindingCategory,
    "confidence": Confidence,
}
LINES: Final = ("line", "end_line")
TOP_REQUIRED: Final = ("schema_version", "prompt_version", "findings")
TOP_OPTIONAL: Final = ("summary", "meta")


@dataclass(frozen=True, slots=True)
class ReviewResult:
    """A whole answer; every finding in it passed validation and reconciliation."""

    schema_version: str
    prompt_version: str
    findings: tuple[CodeFinding, ...]
    summary: str | None = None
    meta: dict[str, Any] | None = field(default=None, hash=False)

    def plain(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "schema_version": self.schema_version,
            "prompt_version": self.prompt_version,
            "summary": self.summary,
            "findings": [finding.plain() for finding in self.findings],
            "meta": self.meta,
        }
        return {name: value for name, value in found.items() if value is not None}
