"""Step 3: validates each finding. One that breaks the contract is dropped, with the reason; the others stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from leasehold.pipelines.review.contract.diagnostics import (
    FieldDropped,
    FindingDropped,
    ReasonCode,
    ReviewDiagnostic,
)
from leasehold.pipelines.review.contract.fields import Normalizer
from leasehold.pipelines.review.contract.result import ENUMS, FIELDS, LINES, REQUIRED, CodeFinding
from leasehold.pipelines.review.contract.strict_json import DuplicateKeys, OverlongNumber, is_storable

ALLOWED: Final = {name: frozenset(kind) for name, kind in ENUMS.items()}
Offence = tuple[ReasonCode, str | None]


@dataclass(frozen=True, slots=True)
class NumberedFinding:
    """A valid finding and its place in the response."""

    index: int
    finding: CodeFinding


class FindingValidator:
    """Validates the findings of one response and notes what becomes of each."""

    def __init__(self, normalizer: Normalizer, diagnostics: list[ReviewDiagnostic], *, is_newer: bool) -> None:
        """`is_newer`: the response has a newer minor version, whose additional fields are left out."""
        self._normalizer = normalizer
        self._diagnostics = diagnostics
        self._is_newer = is_newer

    def validate_all(self, findings: list[Any]) -> Iterator[NumberedFinding]:
        for index, found in enumerate(findings):
            finding = self._validate(index, found)
            if finding is not None:
                yield NumberedFinding(index, finding)

    def drop(self, index: int, code: ReasonCode, name: str | None, fields: dict[str, Any]) -> None:
        """Note that a finding is dropped, with its place as far as it can be read."""
        id_, file, line = fields.get("id"), fields.get("file"), fields.get("line")
        place = line if type(line) is int else None
        self._diagnostics.append(FindingDropped(index, code, name, _text_or_none(id_), _text_or_none(file), place))

    def _validate(self, index: int, found: Any) -> CodeFinding | None:
        if not isinstance(found, dict):
            self.drop(index, ReasonCode.SCHEMA_MISMATCH, None, {})
            return None
        id_ = found.get("id")
        fields = self._normalizer.normalize(found, FIELDS, id_.strip() if isinstance(id_, str) else None)
        offence = next(self._offences(found, fields), None)
        if offence is not None:
            self.drop(index, *offence, fields)
            return None
        for name in sorted(found.keys() - set(FIELDS)):
            self._diagnostics.append(FieldDropped(fields["id"], name))
        enums = {name: kind(fields[name]) for name, kind in ENUMS.items() if name in fields}
        return CodeFinding(**{**fields, **enums})

    def _offences(self, found: dict[str, Any], fields: dict[str, Any]) -> Iterator[Offence]:
        """Yield what is wrong, the most important first."""
        if isinstance(found, DuplicateKeys):
            yield ReasonCode.DUPLICATE_KEY, None
        for name in REQUIRED:
            if name not in found:
                yield ReasonCode.MISSING_REQUIRED_FIELD, name
        for name, value in fields.items():
            if name in LINES:
                yield from _line_offences(name, value)
            else:
                yield from _text_offences(name, value)
        if not self._is_newer and (unknown := found.keys() - set(FIELDS)):
            yield ReasonCode.SCHEMA_MISMATCH, min(unknown)
        if "end_line" in fields and fields["end_line"] < fields["line"]:
            yield ReasonCode.INVALID_LINE_RANGE, "end_line"


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _line_offences(name: str, value: Any) -> Iterator[Offence]:
    if isinstance(value, OverlongNumber):
        yield ReasonCode.INVALID_LINE_RANGE, name
    elif type(value) is not int:  # not isinstance: true is no line
        yield ReasonCode.SCHEMA_MISMATCH, name
    elif value < 1:
        yield ReasonCode.INVALID_LINE_RANGE, name


def _text_offences(name: str, value: Any) -> Iterator[Offence]:
    if not isinstance(value, str) or not is_storable(value):
        yield ReasonCode.SCHEMA_MISMATCH, name
    elif name in ENUMS:
        if value not in ALLOWED[name]:
            yield ReasonCode.INVALID_ENUM_VALUE, name
    elif name in REQUIRED and not value:
        yield ReasonCode.SCHEMA_MISMATCH, name
