"""Step 4: a finding stays only if its file is one of the changed files, by its exact path or without a leading `./`.

Nothing else is tried: no other spelling, no shorter or longer path, no letter case, no neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from leasehold.pipelines.review.contract.diagnostics import ReasonCode
from leasehold.pipelines.review.contract.fields import Normalizer
from leasehold.pipelines.review.contract.findings import FindingValidator, NumberedFinding
from leasehold.pipelines.review.contract.result import CodeFinding


class ChangedPaths:
    """The paths of the changed files, as findings may name them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._exact = frozenset(paths)
        # Of two paths that are the same without `./`, the one that comes first in order, on every machine.
        self._plain = {without_dot(path): path for path in sorted(self._exact, reverse=True)}

    def match(self, path: str) -> str | None:
        """Return the changed path that a finding's path stands for, None if there is none."""
        return path if path in self._exact else self._plain.get(without_dot(path))


def without_dot(path: str) -> str:
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


def reconciled(
    found: Iterable[NumberedFinding], changed: ChangedPaths, validator: FindingValidator, normalizer: Normalizer
) -> Iterator[CodeFinding]:
    """Yield the findings whose file is a changed one, under its path in the change."""
    for numbered in found:
        finding = numbered.finding
        path = changed.match(finding.file)
        if path is None:
            validator.drop(numbered.index, ReasonCode.FILE_NOT_IN_CHANGED_FILES, "file", finding.plain())
            continue
        if path != finding.file:
            normalizer.note(finding.id, "file", finding.file, path)
        yield finding if path == finding.file else replace(finding, file=path)
