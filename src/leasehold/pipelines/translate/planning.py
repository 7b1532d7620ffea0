"""Planning a document as it is now, and the decisions of a person about paragraphs that wait in `rework_required`.

New paragraphs are submitted, removed ones cancelled, failed ones revived. A paragraph that was planned before stays as
it is, wherever it is in the document: nothing is translated twice. A decision is a job of its own, a round.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from leasehold import Job, KeyConflict, Status
from leasehold.errors import JobNotFree, Misuse
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.history import (
    ROUND_SEPARATOR,
    ParagraphHistory,
    PlannedParagraph,
    histories,
    history_of,
    inputs_of,
    planned_paragraphs,
)
from leasehold.pipelines.translate.limits import ROUND_SECONDS
from leasehold.pipelines.translate.paragraphs import Decision, DecisionKind, ParagraphInput, RoundPayload, plain
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain

GONE: Final = "no longer in the document"
EVIDENCE: Final = "run again with leasehold translate"
LETTERS_MAX: Final = 500
PERSON: Final = "leasehold translate --rework-only"
TEXT_LENGTH_MAX: Final = 100_000
NOTE_LENGTH_MAX: Final = 2_000
NAME_LENGTH_MAX: Final = 200
TRIES_SENT_MAX: Final = 2  # to a round: enough to see that one fails as the one before did
OWNER: Final = "leasehold translate"
_unencodable: Final = re.compile(r"[\x00\ud800-\udfff]")


class DecisionInvalid(Misuse, code="DECISION_INVALID"):
    """A decision has a name, a note and a text of characters, each within its length."""


class ParagraphUnknown(Misuse, code="PARAGRAPH_UNKNOWN"):
    """The document has no such paragraph."""


class NotWaiting(Misuse, code="NOT_WAITING"):
    """This paragraph does not wait for a person."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """How many paragraphs there are, and how many of them are new, revived after a failure, or cancelled."""

    total: int
    new: int
    revived: int
    cancelled: int


def plan(toolchain: Toolchain, document: Document) -> PlanCounts:
    inputs = inputs_of(toolchain, document)
    there = planned_paragraphs(toolchain)
    still = dict(inputs)
    gone = [planned for key, planned in there.items() if key not in still]
    cancelled = sum(_cancel(toolchain, planned) for planned in gone)
    new = [(key, paragraph) for key, paragraph in inputs if key not in there]
    toolchain.plan(new)
    known = [(there[key], paragraph) for key, paragraph in inputs if key in there]
    back = sum(_resubmit(toolchain, planned, paragraph) for planned, paragraph in known)
    return PlanCounts(len(inputs), len(new) + back, revive(toolchain), cancelled)


def _cancel(toolchain: Toolchain, planned: PlannedParagraph) -> bool:
    if planned.state in states.ENDS:
        return False
    if (job := toolchain.app.get(planned.job_id)).status.settled:
        return False
    job.cancel(GONE)
    return True


def _resubmit(toolchain: Toolchain, planned: PlannedParagraph, paragraph: ParagraphInput) -> bool:
    """Submit a paragraph again that was removed from the document before it was done, and is back in it."""
    if planned.state in states.ENDS or toolchain.app.get(planned.job_id).status != Status.CANCELLED:
        return False
    toolchain.app.submit(toolchain.kind, plain(paragraph), key=planned.key, version=planned.version + 1)
    return True


def revive(toolchain: Toolchain) -> int:
    """Revive the dead letters of this run: a person who runs the command again has read why they failed."""
    count = 0
    for kind in (KIND, ROUND):
        for letter_id, job_id in _letters(toolchain, kind):
            if toolchain.app.get(job_id).key.startswith(toolchain.prefix):
                toolchain.app.deadletters.evidence(letter_id, EVIDENCE)
                toolchain.app.deadletters.revive(letter_id)
                count += 1
    return count


def _letters(toolchain: Toolchain, kind: str) -> Iterator[tuple[int, int]]:
    """Yield every open dead letter of a kind with its job, also where other runs have many in the same database."""
    before = None
    while found := toolchain.app.deadletters.list(kind=kind, state="open", limit=LETTERS_MAX, before=before):
        yield from ((letter.id, letter.job_id) for letter in found)
        before = found[-1].id


def rework(toolchain: Toolchain, document: Document) -> PlanCounts:
    """Submit another round of every paragraph that waits for a person."""
    there, count = planned_paragraphs(toolchain), 0
    for (key, paragraph), source in zip(inputs_of(toolchain, document), document.paragraphs, strict=True):
        planned = there.get(key)
        if planned is not None and planned.state == states.REWORK_REQUIRED:
            history = history_of(toolchain, source, planned)
            if history.is_waiting:  # a round that was cut off is resumed, not submitted twice
                submit_round(toolchain, history, paragraph, Decision(DecisionKind.RETRY, PERSON))
                count += 1
    return PlanCounts(len(document.paragraphs), 0, count, 0)


def check_decision(decision: Decision) -> Decision:
    """Refuse what no row could hold: once it is recorded, the files could not be written any more."""
    limits = ((decision.by, NAME_LENGTH_MAX), (decision.note, NOTE_LENGTH_MAX), (decision.text, TEXT_LENGTH_MAX))
    for text, most in limits:
        if len(text) > most or _unencodable.search(text):
            raise DecisionInvalid(f"At most {most:,} characters of UTF-8; this is {text[:80]!r}.")
    if not decision.by.strip() or (decision.text and not decision.text.strip()):
        raise DecisionInvalid("It is blank.")
    return decision


def submit_round(toolchain: Toolchain, history: ParagraphHistory, paragraph: ParagraphInput, decision: Decision) -> Job:
    number = len(history.planned.rounds) + 1
    payload = RoundPayload(paragraph, replace(decision, number=number), history.tries[-TRIES_SENT_MAX:])
    key = f"{history.planned.key}{ROUND_SEPARATOR}{number}"
    try:
        return toolchain.app.submit(toolchain.round, plain(payload), key=key)
    except KeyConflict:
        raise NotWaiting(f"Somebody else decided about paragraph {history.paragraph.index} just now.") from None


def decide(
    toolchain: Toolchain, document: Document, indexes: Sequence[int], decision: Decision
) -> Iterator[ParagraphHistory]:
    there = {history.paragraph.index: history for history in histories(toolchain, document)}
    chosen = [_waiting(there, index, len(document.paragraphs)) for index in dict.fromkeys(indexes)]
    inputs = dict(inputs_of(toolchain, document))
    for history in chosen:
        _run_round(toolchain, submit_round(toolchain, history, inputs[history.planned.key], decision))
        yield history


def _waiting(there: Mapping[int, ParagraphHistory], index: int, count: int) -> ParagraphHistory:
    if not 1 <= index <= count:
        raise ParagraphUnknown(f"Paragraphs are numbered from 1 to {count:,}; this is {index}.")
    history = there.get(index)
    if history is None or history.state != states.REWORK_REQUIRED or not history.tries:
        raise NotWaiting(f"Paragraph {index} is {history.state if history else 'not planned yet'}.")
    if history.under_way:
        raise NotWaiting(f"The decision about paragraph {index} before is not carried out yet: run the document again.")
    return history


def _run_round(toolchain: Toolchain, job: Job) -> None:
    """Run the round in this process; a worker that serves this run and claimed it first does the same."""
    try:
        held = toolchain.app.manual.hold(job.id, owner=OWNER, seconds=ROUND_SECONDS)
    except JobNotFree:
        if job.wait(ROUND_SECONDS).status != Status.DONE:
            raise
    else:
        held.done(toolchain.again(held.task, **job.payload))
