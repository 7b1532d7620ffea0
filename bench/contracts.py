"""Measure how fast a run folder is checked: `python -m bench.contracts`. Exits 1 below the goal.

The folder holds what a translation leaves: of each paragraph several states, a score, a review with findings and a
candidate, and for every tenth a place in the queue of rework. For comparison, in the same run, the same bytes are only
parsed, line by line, by msgspec and by the standard library.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.report import Report
from leasehold.contracts import check_run

GOAL_ROWS_PER_SECOND = 200_000
PARAGRAPHS, QUICK_PARAGRAPHS = 40_000, 2_000
ROUNDS = 5
STATES = ("translated_pass1", "reviewed_pass1", "approved")
HEAD = {"schema_version": "1.0.0", "run_id": "bench-0001", "document_id": "moby-dick.md"}
TIME = "2026-01-01T00:00:00.123456Z"

Row = dict[str, Any]


def digest(word: str, index: int) -> str:
    return f"sha256:{hashlib.sha256(f'{word} {index}'.encode()).hexdigest()}"


def states(index: int) -> Iterator[Row]:
    row = {**HEAD, "paragraph_index": index, "source_content_hash": digest("source", index), "updated_at": TIME}
    yield {**row, "state": "ingested"}
    yield from ({**row, "state": state, "attempt": 1, "actor": "apertium"} for state in STATES)


def scores(index: int) -> Iterator[Row]:
    found = {"adequacy": 0.91, "fluency": 0.84, "terminology": 1.0, "style": 0.7, "composite": 0.8625}
    yield {
        **HEAD, "paragraph_index": index, "candidate_content_hash": digest("candidate", index),
        "state": "reviewed_pass1", "scores": found, "thresholds": {"adequacy": 0.7, "fluency": 0.7}, "scored_at": TIME,
    }  # fmt: skip


def rework(index: int) -> Iterator[Row]:
    if index % 10 == 0:
        yield {
            **HEAD, "paragraph_index": index, "candidate_content_hash": digest("candidate", index),
            "state": "rework_required", "reason_codes": ["low_adequacy"], "queued_at": TIME, "priority": "high",
        }  # fmt: skip


def candidates(index: int) -> Iterator[Row]:
    yield {
        **HEAD, "paragraph_index": index, "source_content_hash": digest("source", index),
        "selected_candidate_hash": digest("candidate", index), "target_language": "es",
        "selection_outcome": "approved", "selected_at": TIME,
    }  # fmt: skip


def reviews(index: int) -> Iterator[Row]:
    finding = {"code": "number_lost", "severity": "major", "message": "7 is lost", "span": {"start": 3, "length": 9}}
    yield {
        **HEAD, "paragraph_index": index, "reviewer": "numbers", "review_outcome": "accept_with_notes",
        "reviewed_candidate_hash": digest("candidate", index), "state_after_review": "reviewed_pass1",
        "findings": [finding] * (index % 3), "reviewed_at": TIME,
    }  # fmt: skip


FILES: dict[str, Callable[[int], Iterator[Row]]] = {
    "state/paragraph_state.jsonl": states,
    "state/paragraph_scores.jsonl": scores,
    "state/rework_queue.jsonl": rework,
    "final/candidate_map.jsonl": candidates,
    "review/normalized/numbers.jsonl": reviews,
}


def make(folder: Path, paragraphs: int) -> None:
    """Write a run folder in order."""
    for relative, rows in FILES.items():
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        with (folder / relative).open("wb") as file:
            for index in range(1, paragraphs + 1):
                file.writelines(msgspec.json.encode(row) + b"\n" for row in rows(index))
    artifacts = {Path(path).stem: path for path in FILES if not path.startswith("review")}
    manifest = {
        **HEAD, "source_language": "en", "target_language": "es", "created_at": TIME,
        "artifacts": artifacts | {"normalized_review": "review/normalized/*.jsonl"},
        "counts": {"paragraphs_total": paragraphs, "paragraphs_approved": paragraphs, "paragraphs_rework": 0},
    }  # fmt: skip
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))


def checked(folder: Path) -> int:
    found = check_run(folder)
    assert found.ok, found.diagnostics[0]
    return found.rows


def parsed(folder: Path, parse: Callable[[bytes], object]) -> int:
    """Parse every line and nothing else."""
    rows = 0
    for relative in FILES:
        with (folder / relative).open("rb") as file:
            for line in file:
                parse(line)
                rows += 1
    return rows


def rates(paragraphs: int = PARAGRAPHS, rounds: int = ROUNDS) -> dict[str, float]:
    """Return rows a second of each way: the best round, in turn, for noise only ever slows down."""
    ways: dict[str, Callable[[Path], int]] = {
        "check_run": checked,
        "only parsed, msgspec": lambda folder: parsed(folder, msgspec.json.Decoder().decode),
        "only parsed, json": lambda folder: parsed(folder, json.loads),
    }
    best = dict.fromkeys(ways, 0.0)
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), paragraphs)
        for _ in range(rounds):
            for way, run in ways.items():
                started = time.perf_counter()
                rows = run(Path(name))
                best[way] = max(best[way], rows / (time.perf_counter() - started))
    return best


def measure(report: Report, paragraphs: int = PARAGRAPHS) -> None:
    """Note every rate and how they compare; a whole check has to reach the goal."""
    found = rates(paragraphs)
    for name, rate in found.items():
        report.note(f"contracts: {name}", rate, "rows/s")
    for name in ("only parsed, msgspec", "only parsed, json"):
        report.note(f"contracts: check_run against {name}", found["check_run"] / found[name], "")
    report.at_least("contracts: check_run, rows/s", found["check_run"], GOAL_ROWS_PER_SECOND)


def main() -> int:
    """Print the rates; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.contracts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs")
    report = Report()
    measure(report, QUICK_PARAGRAPHS if parser.parse_args().quick else PARAGRAPHS)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
