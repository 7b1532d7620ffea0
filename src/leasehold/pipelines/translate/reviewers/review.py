"""What a reviewer is given, and what it returns: a candidate; scores and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding weighs."""

    INFO = "info"
    MINOR = "minor"
    MAJOR = "major"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Subject:
    """One candidate beside its source. `kept` is what had to stay as it is."""

    source: str
    candidate: str
    source_language: str
    target_language: str
    kept: tuple[str, ...]
    glossary: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in a candidate; its place, if it has one, in code points."""

    code: str
    severity: Severity
    message: str
    start: int | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """What one reviewer says of one candidate. Scores lie between 0 and 1."""

    reviewer: str
    scores: Mapping[str, float]
    findings: tuple[Finding, ...]
