"""Merges the results for the parts of one change into one, by the ids of findings.

Models number their findings, so two parts may give the same id to two different findings: neither is lost, the later
gets another id. A finding with the id, file and line of an earlier one is that one; the more severe of them stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.contract import (
    CodeFinding,
    CoercionApplied,
    FindingDropped,
    FindingSeverity,
    ReasonCode,
    ReviewDiagnostic,
    ReviewResult,
)
from leasehold.pipelines.review.contract.diagnostics import redacted
from leasehold.redact import Redactor

RANKS: Final = {severity: rank for rank, severity in enumerate(FindingSeverity)}


class NothingToMerge(Misuse, code="REVIEW_NOTHING_TO_MERGE"):
    """There is at least one result to merge, and all of them are for the same versions."""


@dataclass(frozen=True, slots=True)
class MergedReview:
    """One result for the whole change, and what was changed for it."""

    result: ReviewResult
    diagnostics: tuple[ReviewDiagnostic, ...]


def merge_reviews(results: Sequence[ReviewResult], redactor: Redactor) -> MergedReview:
    """Merge results in the order of their parts. `redactor` cleans what the diagnostics show."""
    if len({result.prompt_version for result in results}) != 1:
        raise NothingToMerge(f"{len(results)} were given.")
    merging = _Merging()
    for result in results:
        for finding in result.findings:
            merging.add(finding)
    return MergedReview(_merged(results, tuple(merging.kept.values())), redacted(merging.diagnostics, redactor))


class _Merging:
    """Takes one finding after the other."""

    def __init__(self) -> None:
        self.kept: dict[str, CodeFinding] = {}
        self.diagnostics: list[ReviewDiagnostic] = []
        self._ids: dict[tuple[str, str, int], str] = {}
        self._numbers: dict[str, int] = {}
        self._count = 0

    def add(self, finding: CodeFinding) -> None:
        key = (finding.id, finding.file, finding.line)
        if key in self._ids:
            id_ = self._ids[key]
            worst = min(self.kept[id_], finding, key=lambda one: RANKS[one.severity])
            self.kept[id_] = replace(worst, id=id_)
            self.diagnostics.append(FindingDropped(self._count, ReasonCode.DUPLICATE_ID, "id", *key))
        else:
            id_ = self._ids[key] = self._free_id(finding.id)
            self.kept[id_] = replace(finding, id=id_)
            if id_ != finding.id:
                self.diagnostics.append(CoercionApplied(finding.id, "id", finding.id, id_))
        self._count += 1

    def _free_id(self, id_: str) -> str:
        free = id_
        while free in self.kept:
            self._numbers[id_] = self._numbers.get(id_, 1) + 1
            free = f"{id_}-{self._numbers[id_]}"
        return free


def _merged(results: Sequence[ReviewResult], findings: tuple[CodeFinding, ...]) -> ReviewResult:
    first, *others = results
    if not others:
        return replace(first, findings=findings)
    summaries = dict.fromkeys(result.summary for result in results if result.summary)
    metas: list[dict[str, Any]] = [result.meta for result in results if result.meta is not None]
    meta = {"parts": metas} if metas else None
    versions = first.schema_version, first.prompt_version
    return ReviewResult(*versions, findings, "\n\n".join(summaries) or None, meta)
