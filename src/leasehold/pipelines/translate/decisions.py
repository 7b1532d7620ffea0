"""What a person decides about a paragraph that waits: approved as it stands or with another text, or rejected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct, to_builtins

from leasehold import Task
from leasehold.errors import Misuse
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.gate import Assessment, Outcome, Priority, ReworkReason
from leasehold.pipelines.translate.handler import PASS2, now
from leasehold.pipelines.translate.paragraphs import Try, best_of
from leasehold.shapes import Shape

TEXT_LENGTH_MAX: Final = 100_000
NOTE_LENGTH_MAX: Final = 2_000
NAME_LENGTH_MAX: Final = 200
_half: Final = re.compile(r"[\x00\ud800-\udfff]")


class DecisionKind(StrEnum):
    """What is asked for."""

    APPROVE = "approve"
    REJECT = "reject"
    RETRY = "again"


class Decision(Struct, frozen=True):
    """What a person asks for. `text`: what to approve instead of the best candidate."""

    kind: DecisionKind
    by: str
    note: str = ""
    text: str = ""
    number: int = 1  # which round of the paragraph

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        found: dict[str, Any] = to_builtins(self)
        return found


DECISION: Final = Shape[Decision](Decision)


class DecisionInvalid(Misuse):
    """A decision is one of a name, a note and a text of characters, each within its length."""

    code = "DECISION_INVALID"


def check_decision(asked: Decision) -> Decision:
    """Refuse what no row could hold: once it is on record, no file could be made any more."""
    limits = ((asked.by, NAME_LENGTH_MAX), (asked.note, NOTE_LENGTH_MAX), (asked.text, TEXT_LENGTH_MAX))
    for text, most in limits:
        if len(text) > most or _half.search(text):
            raise DecisionInvalid(f"At most {most:,} characters of UTF-8; this is {text[:80]!r}.")
    if not asked.by.strip() or (asked.text and not asked.text.strip()):
        raise DecisionInvalid("It is blank.")
    return asked


def decide(task: Task, asked: Decision, tries: Sequence[Try]) -> dict[str, Any]:
    """Put a person's decision on record."""
    best = best_of(tries)
    is_approved = asked.kind is DecisionKind.APPROVE
    state = states.APPROVED if is_approved else states.REJECTED
    at: str = task.effect("DECIDE", now, idempotent=True)
    for step in (states.TRANSLATED_PASS2, states.REVIEWED_PASS2, state):
        task.advance(step)
    outcome = Outcome.ACCEPT_WITH_NOTES if is_approved else Outcome.REJECT
    reasons = () if is_approved else (ReworkReason.HUMAN_FLAG,)
    scores = {} if asked.text else best.assessment.scores  # nobody has scored what a person wrote
    made = Try(
        attempt=tries[-1].attempt + 1,
        number=PASS2,
        candidate=asked.text or best.candidate,
        actor=asked.by,
        translated_at=at,
        reviews=(),
        assessment=Assessment(scores, outcome, reasons, Priority.LOW, ()),
        reviewed_at=at,
        state=state,
        note=asked.note,
    )
    return {"tries": [made.plain()], "state": state}
