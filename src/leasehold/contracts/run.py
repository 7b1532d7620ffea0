"""Checking a whole run folder: its manifest, all its rows, whose they are, and what the manifest counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from leasehold.contracts.consumer import Consumer
from leasehold.contracts.diagnostics import Diagnostic, Problem, Reason, located
from leasehold.contracts.errors import FileUnreadable
from leasehold.contracts.lines import ROW_BYTES_MAX, blocks, parse_row
from leasehold.contracts.registry import Registry, published
from leasehold.contracts.safe_open import descended, folder, names, opened, start_of
from leasehold.contracts.validate_blocks import Identity, Judged, judge

MANIFEST: Final = "manifest.json"
STATES: Final = "state/paragraph_state.jsonl"
CANDIDATES: Final = "final/candidate_map.jsonl"
# In the order in which they are checked; each has to be there, though it may be empty.
ARTIFACTS: Final = {
    STATES: "paragraph_state_row",
    "state/paragraph_scores.jsonl": "paragraph_scores_row",
    "state/rework_queue.jsonl": "rework_queue_row",
    CANDIDATES: "candidate_map_row",
}
REVIEWS: Final = "review/normalized"
REVIEW: Final = "normalized_review_row"
# Which state a paragraph ends in to be counted there.
BUCKETS: Final = {
    "paragraphs_approved": "approved",
    "paragraphs_rework": "rework_required",
    "paragraphs_rejected": "rejected",
}
PROBLEMS_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found: rows that were looked at, how many problems, and the first of these."""

    rows: int
    problems: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check_run(path: str | Path, *, registry: Registry | None = None, problems_kept: int = PROBLEMS_KEPT) -> Checked:
    """Check a run folder. It must not be written to meanwhile; raises only if the folder itself cannot be opened."""
    with folder(path) as root:
        check = _Check(root, registry or published(), problems_kept)
        check.run()
    return Checked(check.rows, check.problems, tuple(check.kept))


@dataclass(slots=True)
class _Check:
    """One check under way."""

    root: int
    registry: Registry
    most: int
    rows: int = 0
    problems: int = 0
    kept: list[Diagnostic] = field(default_factory=list)
    identity: Identity | None = None
    standing: dict[Any, Any] = field(default_factory=dict)
    candidates: set[Any] = field(default_factory=set)

    def run(self) -> None:
        manifest = self._manifest()
        self.identity = _identity(manifest)
        for path, name in ARTIFACTS.items():
            before = self.problems
            self._file(path, name)
            if path == STATES and self.problems == before:
                self._count(manifest.get("counts", {}))
        self._reviews()

    def _manifest(self) -> dict[str, Any]:
        """Return the manifest; an empty one if it is not in order."""
        try:
            with opened(MANIFEST, self.root) as read:
                manifest = parse_row(start_of(read, ROW_BYTES_MAX + 1))
        except FileUnreadable as error:
            manifest = error.problem
        if isinstance(manifest, Problem):
            problems, manifest = [manifest], {}
        else:
            problems = Consumer(self.registry, "manifest").problems(manifest)
        for problem in problems:
            self._note(located(MANIFEST, None, problem))
        return {} if problems else manifest

    def _reviews(self) -> None:
        """Check every file of the manifest's glob. As for a shell, names that begin with a dot are not of it."""
        try:
            with descended(self.root, PurePosixPath(REVIEWS)) as reviews:
                found = [name for name in names(reviews) if name.endswith(".jsonl") and not name.startswith(".")]
        except FileUnreadable as error:
            self._note(located(REVIEWS, None, error.problem))
            return
        for name in found:
            self._file(f"{REVIEWS}/{name}", REVIEW)

    def _file(self, path: str, name: str) -> None:
        consumer, relative = Consumer(self.registry, name), PurePosixPath(path)
        try:
            with descended(self.root, relative.parent) as home, opened(relative.name, home) as read:
                for block in blocks(read):
                    self._take(path, judge(block, consumer, self.identity))
        except FileUnreadable as error:
            self._note(located(path, None, error.problem))

    def _take(self, path: str, judged: Judged) -> None:
        self.rows += judged.count
        for line, problem in judged.refused:
            self._note(located(path, line, problem))
        if path == STATES:
            self.standing |= {row.get("paragraph_index"): row.get("state") for row in judged.rows}
        elif path == CANDIDATES:
            self._once(judged)

    def _once(self, judged: Judged) -> None:
        for line, row in zip(judged.lines, judged.rows, strict=True):
            index = row.get("paragraph_index")
            if index in self.candidates:
                said = "a row above has chosen for this paragraph"
                self._note(Diagnostic(CANDIDATES, line, "$.paragraph_index", Reason.ROW_DUPLICATE, said))
            self.candidates.add(index)

    def _count(self, counts: dict[str, int]) -> None:
        """Compare the manifest's counts with where each paragraph stands in its last row."""
        ended = Counter(self.standing.values())
        found = {"paragraphs_total": len(self.standing)} | {name: ended[state] for name, state in BUCKETS.items()}
        for name, count in counts.items():
            if name in found and count != found[name]:
                said = f"it is {count:,}; the rows of {STATES} give {found[name]:,}"
                self._note(Diagnostic(MANIFEST, None, f"$.counts.{name}", Reason.COUNT_WRONG, said))

    def _note(self, diagnostic: Diagnostic) -> None:
        self.problems += 1
        if len(self.kept) < self.most:
            self.kept.append(diagnostic)


def _identity(manifest: dict[str, Any]) -> Identity | None:
    run_id, document_id = manifest.get("run_id"), manifest.get("document_id")
    if isinstance(run_id, str) and isinstance(document_id, str):
        return Identity(run_id, document_id)
    return None
