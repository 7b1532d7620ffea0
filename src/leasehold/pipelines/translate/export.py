"""The files of a run, written from the database: rows under their contracts, the manifest, the translated document.

Each file is written whole or not at all, the manifest last. Every row is checked against its contract before it is
written. The files may be deleted at any time: `leasehold translate project` writes them again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import Any, Final

from leasehold.contracts import encode_row, validate
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.contract_files import ARTIFACTS, COUNTED, MANIFEST, REVIEWS
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.folder import RunFolder, write_whole
from leasehold.pipelines.translate.gate import Outcome, Thresholds
from leasehold.pipelines.translate.history import ParagraphHistory, histories
from leasehold.pipelines.translate.paragraphs import Try, best_of, content_hash
from leasehold.pipelines.translate.reviewers.review import Review, ReviewFinding, Severity, messages
from leasehold.pipelines.translate.settings import RunSettings
from leasehold.pipelines.translate.toolchain import Toolchain

SCHEMA_VERSION: Final = "1.0.0"
NOTE_LENGTH_MAX: Final = 10_000
PERSON_LENGTH_MAX: Final = 200
Row = dict[str, Any]
Make = Callable[[ParagraphHistory], Iterator[Row]]


def project(toolchain: Toolchain, document: Document) -> list[ParagraphHistory]:
    """Write the files of a run as the database has it now, and return the histories they were made of."""
    found = list(histories(toolchain, document))
    folder = RunFolder(toolchain.settings.folder)
    folder.make()
    writer = Writer(toolchain.settings)
    for name, make in makers(toolchain.settings).items():
        write_whole(folder.root / ARTIFACTS[name], writer.lines(f"{name}_row", found, make))
    _write_reviews(folder, writer, found, toolchain.settings.options.thresholds)
    # A paragraph that is not approved stays in the language it came in.
    approved = (history for history in found if history.state == states.APPROVED and history.tries)
    texts = {history.paragraph.index: chosen(history).candidate for history in approved}
    write_whole(folder.root / "final" / document.name, document.render(texts))
    write_whole(folder.root / MANIFEST, writer.manifest(found))
    return found


def chosen(history: ParagraphHistory) -> Try:
    """Return the candidate that decided: the last if it was approved, else the best."""
    return history.tries[-1] if history.state == states.APPROVED else best_of(history.tries)


class Writer:
    """Makes rows with what every row has, and lines of them."""

    def __init__(self, settings: RunSettings) -> None:
        self._identity = identity = settings.identity
        self._same: Row = {"schema_version": SCHEMA_VERSION, "run_id": identity.run_id}
        self._same["document_id"] = identity.document_id

    def lines(self, contract: str, found: Iterable[ParagraphHistory], make: Make) -> bytes:
        """Return rows as JSON Lines; fields that are None are left out."""
        lines = []
        for history in found:
            for fields in make(history):
                given = {name: value for name, value in fields.items() if value is not None}
                row = {**self._same, "paragraph_index": history.paragraph.index, **given}
                lines.append(encode_row(contract, row))
        return b"".join(lines)

    def manifest(self, found: Sequence[ParagraphHistory]) -> bytes:
        counts = Counter(history.state for history in found)
        fields = {
            **self._same,
            "source_language": self._identity.source_language,
            "target_language": self._identity.target_language,
            "created_at": self._identity.created_at,
            "artifacts": ARTIFACTS,
            "pipeline_version": version("leasehold"),
            "counts": {"paragraphs_total": len(found)} | {name: counts[state] for name, state in COUNTED.items()},
        }
        validate("manifest", fields)
        return json.dumps(fields, ensure_ascii=False, indent=2).encode() + b"\n"


def _state_rows(history: ParagraphHistory) -> Iterator[Row]:
    attempt, tries = 0, {tried.attempt: tried for tried in history.tries}
    for move in history.changes:
        is_translated = move.state in (states.TRANSLATED_PASS1, states.TRANSLATED_PASS2)
        attempt += is_translated
        tried = tries.get(attempt)
        is_decided = tried is not None and move.state == tried.state
        yield {
            "source_content_hash": content_hash(history.paragraph.source),
            "state": move.state,
            "updated_at": move.at,
            "attempt": attempt or None,
            "actor": tried.actor[:PERSON_LENGTH_MAX] if tried and is_translated else None,
            "notes": (notes_of(tried) or None) if tried and is_decided else None,
        }


def notes_of(tried: Try) -> str:
    """Return why a candidate was not simply accepted."""
    reasons = ", ".join(tried.assessment.reasons)
    return "; ".join(part for part in (reasons, tried.note) if part)[:NOTE_LENGTH_MAX]


def _score_rows(thresholds: dict[str, float], history: ParagraphHistory) -> Iterator[Row]:
    for tried in history.tries:
        if tried.reviews:
            yield {
                "candidate_content_hash": content_hash(tried.candidate),
                "state": states.REVIEWED_PASS1 if tried.number == 1 else states.REVIEWED_PASS2,
                "scores": tried.assessment.scores,
                "thresholds": thresholds,
                "scored_at": tried.reviewed_at,
            }


def _queue_rows(history: ParagraphHistory) -> Iterator[Row]:
    if history.state == states.REWORK_REQUIRED and history.tries:
        last = history.tries[-1]
        yield {
            "candidate_content_hash": content_hash(last.candidate),
            "state": states.REWORK_REQUIRED,
            "reason_codes": [reason.value for reason in last.assessment.reasons],
            "queued_at": last.reviewed_at,
            "priority": last.assessment.priority.value,
            "details": "; ".join(messages(last.assessment.findings))[:NOTE_LENGTH_MAX],
        }


def _map_rows(target_language: str, history: ParagraphHistory) -> Iterator[Row]:
    if history.state in states.ENDS and history.tries:
        yield {
            "source_content_hash": content_hash(history.paragraph.source),
            "selected_candidate_hash": content_hash(chosen(history).candidate),
            "target_language": target_language,
            "selection_outcome": history.state,
            "selected_at": history.changes[-1].at,
            "selection_reason": notes_of(history.tries[-1]) or None,
        }


def _write_reviews(
    folder: RunFolder, writer: Writer, found: Sequence[ParagraphHistory], thresholds: Thresholds
) -> None:
    """Write a file for each reviewer, and delete those of reviewers that no longer review."""
    names = sorted({review.reviewer for history in found for tried in history.tries for review in _reviews(tried)})
    home = folder.root / REVIEWS
    files = {home / f"{_file_name(name)}.jsonl": name for name in names}
    for path, name in files.items():
        write_whole(path, writer.lines("normalized_review_row", found, partial(_review_rows, name, thresholds)))
    for path in home.glob("*.jsonl"):
        if path not in files:
            path.unlink()


def _reviews(tried: Try) -> tuple[Review, ...]:
    """Return the reviews of a candidate; a person's decision is history."""
    return tried.reviews or (Review(tried.actor, {}, ()),)


def _review_rows(reviewer: str, thresholds: Thresholds, history: ParagraphHistory) -> Iterator[Row]:
    for tried in history.tries:
        for review in _reviews(tried):
            if review.reviewer == reviewer:
                notes = "; ".join(part for part in (*weak_scores(review, thresholds), tried.note) if part)
                outcome = outcome_of(review, thresholds) if tried.reviews else tried.assessment.outcome
                yield {
                    "reviewer": review.reviewer[:PERSON_LENGTH_MAX],
                    "review_outcome": outcome.value,
                    "reviewed_candidate_hash": content_hash(tried.candidate),
                    "state_after_review": tried.state,
                    "findings": [_finding_row(finding) for finding in review.findings],
                    "reviewed_at": tried.reviewed_at,
                    "review_notes": notes[:NOTE_LENGTH_MAX] or None,
                }


def weak_scores(review: Review, thresholds: Thresholds) -> list[str]:
    """Return which scores of a review are too low: they are a reason even where nothing was found."""
    weak = [(name, score) for name, score in review.scores.items() if score < thresholds.of(name)]
    return [f"{name} {score:.4f} is below {thresholds.of(name):.4f}" for name, score in weak]


def outcome_of(review: Review, thresholds: Thresholds) -> Outcome:
    """Return what one reviewer alone would have decided."""
    worst = {finding.severity for finding in review.findings}
    if Severity.CRITICAL in worst or Severity.MAJOR in worst or weak_scores(review, thresholds):
        return Outcome.REWORK
    return Outcome.ACCEPT_WITH_NOTES if Severity.MINOR in worst else Outcome.ACCEPT


def _finding_row(finding: ReviewFinding) -> Row:
    row: Row = {"code": finding.code, "severity": finding.severity.value}
    if finding.message:
        row["message"] = finding.message[:NOTE_LENGTH_MAX]
    if finding.start is not None and finding.length is not None:
        row["span"] = {"start": finding.start, "length": finding.length}
    return row


def _file_name(reviewer: str) -> str:
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in reviewer)
    return kept[:60] if kept[:60] == reviewer else f"{kept[:60]}-{content_hash(reviewer)[7:15]}"


def makers(settings: RunSettings) -> dict[str, Make]:
    return {
        "paragraph_state": _state_rows,
        "paragraph_scores": partial(_score_rows, asdict(settings.options.thresholds)),
        "rework_queue": _queue_rows,
        "candidate_map": partial(_map_rows, settings.identity.target_language),
    }
