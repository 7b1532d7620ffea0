"""Rows that obey their contracts, whole run folders made of them, and ways to break one thing at a time."""

import copy
import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HASH = "sha256:" + "0123456789abcdef" * 4
TIME = "2026-11-16T06:52:33Z"
STATES = (
    "ingested", "translated_pass1", "reviewed_pass1", "rework_required",
    "translated_pass2", "reviewed_pass2", "approved", "rejected",
)  # fmt: skip
HEAD = {"schema_version": "1.0.0", "run_id": "run-1", "document_id": "moby-dick"}
ROW = {**HEAD, "paragraph_index": 1}
ARTIFACTS = {
    "paragraph_state": "state/paragraph_state.jsonl",
    "paragraph_scores": "state/paragraph_scores.jsonl",
    "rework_queue": "state/rework_queue.jsonl",
    "candidate_map": "final/candidate_map.jsonl",
    "normalized_review": "review/normalized/*.jsonl",
}
REQUIRED: dict[str, dict[str, Any]] = {
    "paragraph_state_row": {
        **ROW, "source_content_hash": HASH, "state": "translated_pass1", "updated_at": TIME, "attempt": 1,
    },
    "paragraph_scores_row": {
        **ROW, "candidate_content_hash": HASH, "state": "reviewed_pass1",
        "scores": {"adequacy": 0.5, "fluency": 1}, "scored_at": TIME,
    },
    "rework_queue_row": {
        **ROW, "candidate_content_hash": HASH, "state": "rework_required",
        "reason_codes": ["low_adequacy"], "queued_at": TIME,
    },
    "candidate_map_row": {
        **ROW, "source_content_hash": HASH, "selected_candidate_hash": HASH, "target_language": "es",
        "selection_outcome": "approved", "selected_at": TIME,
    },
    "normalized_review_row": {
        **ROW, "reviewer": "numbers", "review_outcome": "rework", "reviewed_candidate_hash": HASH,
        "state_after_review": "rework_required", "findings": [{"code": "number_lost", "severity": "major"}],
        "reviewed_at": TIME,
    },
    "manifest": {
        **HEAD, "source_language": "en", "target_language": "es", "created_at": TIME, "artifacts": ARTIFACTS,
    },
}  # fmt: skip
SPAN = {"start": 0, "length": 4}
OPTIONAL: dict[str, dict[str, Any]] = {
    "paragraph_state_row": {"actor": "Ana", "notes": ""},
    "paragraph_scores_row": {"thresholds": {"adequacy": 0.7, "terminology": 0, "style": 0.5, "composite": 1}},
    "rework_queue_row": {"priority": "high", "details": "two numbers are lost"},
    "candidate_map_row": {"selection_reason": "the only one"},
    "normalized_review_row": {"review_notes": "see the second sentence"},
    "manifest": {
        "pipeline_version": "0.1.0",
        "counts": {"paragraphs_total": 1, "paragraphs_approved": 1, "paragraphs_rework": 0, "paragraphs_rejected": 0},
    },
}
NAMES = tuple(REQUIRED)


def full(name: str) -> dict[str, Any]:
    """A row with every field its contract knows."""
    row = copy.deepcopy({**REQUIRED[name], **OPTIONAL[name]})
    if name == "normalized_review_row":
        row["findings"][0] |= {"message": "7 became 8", "span": dict(SPAN)}
    return row


def changed(row: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The same row with another value at `scores.adequacy` or `findings.0.code`."""
    found = copy.deepcopy(row)
    *steps, last = path.split(".")
    place: Any = found
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return found


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def ingested(index: int) -> dict[str, Any]:
    row = full("paragraph_state_row") | {"paragraph_index": index, "state": "ingested"}
    del row["attempt"]
    return row


def make_run(folder: Path, ends: tuple[str, ...] = ("approved", "rework_required", "rejected")) -> Path:
    """A run folder in order; each paragraph has come to one of `ends`."""
    state, score, rework, candidate, review, manifest = (full(name) for name in NAMES)
    indices = range(1, len(ends) + 1)
    for relative in ("state", "final", "review/normalized"):
        (folder / relative).mkdir(parents=True)
    passed = [state | {"paragraph_index": index, "state": end} for index, end in zip(indices, ends, strict=True)]
    write(folder, "state/paragraph_state.jsonl", *(ingested(index) for index in indices), *passed)
    write(folder, "state/paragraph_scores.jsonl", *(score | {"paragraph_index": index} for index in indices))
    write(folder, "state/rework_queue.jsonl", rework)
    write(folder, "final/candidate_map.jsonl", *(candidate | {"paragraph_index": index} for index in indices))
    write(folder, "review/normalized/numbers.jsonl", *(review | {"paragraph_index": index} for index in indices))
    manifest["counts"] = {
        "paragraphs_total": len(ends),
        "paragraphs_approved": ends.count("approved"),
        "paragraphs_rework": ends.count("rework_required"),
        "paragraphs_rejected": ends.count("rejected"),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    return folder


def write(folder: Path, relative: str, *rows: Any) -> None:
    (folder / relative).write_bytes(lines(*rows))
