"""A paragraph as it is worked on: what was wanted, what was tried, and what names it for good.

A paragraph is named by its text and by how many like it came before, never by its place: one that moves is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, to_builtins

from leasehold.pipelines.translate.documents import Paragraph
from leasehold.pipelines.translate.gate import Assessment
from leasehold.pipelines.translate.reviewers.review import Review
from leasehold.shapes import Shape


class ParagraphInput(Struct, frozen=True):
    """What a job is told of its paragraph. The neighbours are those of the day when it was planned."""

    run_id: str
    document_id: str
    source: str
    format: str
    source_language: str
    target_language: str
    before: str = ""
    after: str = ""

    def payload(self) -> dict[str, Any]:
        """Return it as a job's payload."""
        found: dict[str, Any] = to_builtins(self)
        return found


class Try(Struct, frozen=True):
    """One candidate, how it came about, and how it was judged. `state`: the one it led to."""

    attempt: int
    number: int  # which pass: 1 or 2
    candidate: str
    actor: str
    translated_at: str
    reviews: tuple[Review, ...]
    assessment: Assessment
    reviewed_at: str
    state: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    note: str = ""

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        found: dict[str, Any] = to_builtins(self)
        return found


PARAGRAPH_INPUT: Final = Shape[ParagraphInput](ParagraphInput)
TRIES: Final = Shape[tuple[Try, ...]](tuple[Try, ...])


def tries_of(output: Mapping[str, Any]) -> tuple[Try, ...]:
    """Read what a stage or a round gave back."""
    return TRIES.convert(output["tries"])


def content_hash(text: str) -> str:
    """Return what names a text in rows."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def keys_of(run_id: str, document_id: str, paragraphs: Iterable[Paragraph]) -> list[str]:
    """Return the keys of paragraphs, in their order."""
    seen: Counter[str] = Counter()
    found = []
    for paragraph in paragraphs:
        name = content_hash(paragraph.source)
        seen[name] += 1
        told = {"v": 1, "document_id": document_id, "source": name, "occurrence": seen[name]}
        text = json.dumps(told, sort_keys=True, separators=(",", ":"))
        found.append(f"{run_id}/{hashlib.sha256(text.encode()).hexdigest()}")
    return found


def best_of(tries: Sequence[Try]) -> Try:
    """Return the try with the best composite score; of equals the latest."""
    return max(tries, key=lambda one: (one.assessment.scores.get("composite", 0.0), one.attempt))
