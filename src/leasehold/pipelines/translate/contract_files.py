"""The files of a run folder under their contracts, and what must agree between them.

`leasehold contracts check` finds `LAYOUT` by the entry point of this pipeline.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from leasehold.contracts import CheckedBlock, Diagnostic, Reason, RunLayout
from leasehold.pipelines.translate import states

MANIFEST: Final = "manifest.json"
STATES: Final = "state/paragraph_state.jsonl"
SCORES: Final = "state/paragraph_scores.jsonl"
REWORK: Final = "state/rework_queue.jsonl"
CANDIDATES: Final = "final/candidate_map.jsonl"
REVIEWS: Final = "review/normalized"
# As the manifest names them.
ARTIFACTS: Final = {
    "paragraph_state": STATES,
    "paragraph_scores": SCORES,
    "rework_queue": REWORK,
    "candidate_map": CANDIDATES,
    "normalized_review": f"{REVIEWS}/*.jsonl",
}
# The state that a paragraph ends in to be counted there.
COUNTED: Final = {
    "paragraphs_approved": states.APPROVED,
    "paragraphs_rework": states.REWORK_REQUIRED,
    "paragraphs_rejected": states.REJECTED,
}


class TranslationRules:
    """One candidate for a paragraph, and counts that the states of the paragraphs give."""

    def __init__(self) -> None:
        self._states: dict[Any, Any] = {}
        self._chosen: set[Any] = set()

    def check_rows(self, path: str, block: CheckedBlock) -> Iterator[Diagnostic]:
        if path == STATES:
            self._states |= {row.get("paragraph_index"): row.get("state") for row in block.rows}
        if path != CANDIDATES:
            return
        for line, row in zip(block.lines, block.rows, strict=True):
            if (index := row.get("paragraph_index")) in self._chosen:
                message = "a row above has chosen for this paragraph"
                yield Diagnostic(CANDIDATES, line, "$.paragraph_index", Reason.ROW_DUPLICATE, message)
            self._chosen.add(index)

    def check_manifest(self, manifest: Mapping[str, Any], sound: frozenset[str]) -> Iterator[Diagnostic]:
        """Compare the manifest's counts with the last state of each paragraph, if all states could be read."""
        if STATES not in sound:
            return
        ended = Counter(self._states.values())
        found = {"paragraphs_total": len(self._states)} | {name: ended[state] for name, state in COUNTED.items()}
        for name, count in manifest.get("counts", {}).items():
            if name in found and count != found[name]:
                message = f"it is {count:,}; the rows of {STATES} give {found[name]:,}"
                yield Diagnostic(MANIFEST, None, f"$.counts.{name}", Reason.COUNT_WRONG, message)


LAYOUT: Final = RunLayout(
    manifest=MANIFEST,
    manifest_contract="manifest",
    files={
        STATES: "paragraph_state_row",
        SCORES: "paragraph_scores_row",
        REWORK: "rework_queue_row",
        CANDIDATES: "candidate_map_row",
    },
    folders={REVIEWS: "normalized_review_row"},
    identity=("run_id", "document_id"),
    rules=TranslationRules,
)
