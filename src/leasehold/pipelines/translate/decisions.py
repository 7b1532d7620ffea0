"""Decisions of a person about paragraphs that wait in `rework_required`: each is a job of its own, a round."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from leasehold import Job, KeyConflict, Status
from leasehold.errors import JobNotFree, Misuse
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.history import ROUND_SEPARATOR, ParagraphHistory, histories, inputs_of
from leasehold.pipelines.translate.paragraphs import Decision, ParagraphInput, RoundPayload, plain
from leasehold.pipelines.translate.toolchain import Toolchain

TEXT_LENGTH_MAX: Final = 100_000
NOTE_LENGTH_MAX: Final = 2_000
NAME_LENGTH_MAX: Final = 200
TRIES_SENT_MAX: Final = 2  # to a round: enough to see that one fails as the one before did
OWNER: Final = "leasehold translate"
SECONDS: Final = 60.0
_unencodable: Final = re.compile(r"[\x00\ud800-\udfff]")


class DecisionInvalid(Misuse, code="DECISION_INVALID"):
    """A decision has a name, a note and a text of characters, each within its length."""


class ParagraphUnknown(Misuse, code="PARAGRAPH_UNKNOWN"):
    """The document has no such paragraph."""


class NotWaiting(Misuse, code="NOT_WAITING"):
    """This paragraph does not wait for a person."""


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
        held = toolchain.app.manual.hold(job.id, owner=OWNER, seconds=SECONDS)
    except JobNotFree:
        if job.wait(SECONDS).status != Status.DONE:
            raise
    else:
        held.done(toolchain.again(held.task, **job.payload))


def waiting(toolchain: Toolchain, document: Document) -> list[ParagraphHistory]:
    found = histories(toolchain, document)
    return [each for each in found if each.state == states.REWORK_REQUIRED and each.tries and not each.under_way]
