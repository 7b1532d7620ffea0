"""A paragraph in its jobs: the payloads and outputs that are stored, and the key that names it for good.

A paragraph is named by its text and by how many like it came before, never by its place: one that moves is the same.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, to_builtins

from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Paragraph
from leasehold.pipelines.translate.gate import COMPOSITE, Assessment
from leasehold.pipelines.translate.reviewers.review import Review
from leasehold.shapes import Shape


class ParagraphInput(Struct, frozen=True):
    """The payload of a paragraph's job. The neighbours are those of the day when it was planned."""

    run_id: str
    document_id: str
    source: str
    format: str
    source_language: str
    target_language: str
    before: str = ""
    after: str = ""


class Try(Struct, frozen=True):
    """One candidate, how it was made, and how it was assessed. `state`: the one it led to."""

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


class PassOutput(Struct, frozen=True):
    tries: tuple[Try, ...]
    state: str


class DecisionKind(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    RETRY = "again"


class Decision(Struct, frozen=True):
    """What a person decides. `text`: what to approve instead of the best candidate."""

    kind: DecisionKind
    by: str
    note: str = ""
    text: str = ""
    number: int = 1  # which round of the paragraph

    @property
    def state(self) -> str:
        """The state that an approval or a rejection leads to."""
        return states.APPROVED if self.kind is DecisionKind.APPROVE else states.REJECTED


class RoundPayload(Struct, frozen=True):
    """The payload of a round. `last`: the latest tries before it."""

    paragraph: ParagraphInput
    decision: Decision
    last: tuple[Try, ...]


PARAGRAPH_INPUT: Final = Shape[ParagraphInput](ParagraphInput)
PASS_OUTPUT: Final = Shape[PassOutput](PassOutput)
ROUND_PAYLOAD: Final = Shape[RoundPayload](RoundPayload)


def plain(value: Struct) -> dict[str, Any]:
    fields: dict[str, Any] = to_builtins(value)
    return fields


def timestamp(at: datetime) -> str:
    """Return a time as rows have it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def now() -> str:
    return timestamp(datetime.now(UTC))


def content_hash(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def keys_of(run_id: str, document_id: str, paragraphs: Iterable[Paragraph]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for paragraph in paragraphs:
        name = content_hash(paragraph.source)
        seen[name] += 1
        fields = {"v": 1, "document_id": document_id, "source": name, "occurrence": seen[name]}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        found.append(f"{run_id}/{hashlib.sha256(text.encode()).hexdigest()}")
    return found


def best_of(tries: Sequence[Try]) -> Try:
    """Return the try with the best composite score; of equals the latest."""
    return max(tries, key=lambda tried: (tried.assessment.scores.get(COMPOSITE, 0.0), tried.attempt))
