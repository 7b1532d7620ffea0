"""Rounds: what is asked for about a paragraph that waits in `rework_required`, each a job of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from leasehold import Job, KeyConflict, Status
from leasehold.errors import JobNotFree, Misuse
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.decisions import Decision
from leasehold.pipelines.translate.documents import Document
from leasehold.pipelines.translate.history import ROUND_MARK, ParagraphHistory, histories, inputs_of
from leasehold.pipelines.translate.paragraphs import ParagraphInput
from leasehold.pipelines.translate.toolchain import Toolchain

LAST_MAX: Final = 2  # tries that a round is told of: enough to see that one fails as the one before did
OWNER: Final = "leasehold translate"
SECONDS: Final = 60.0


class ParagraphUnknown(Misuse):
    """The document has no such paragraph."""

    code = "PARAGRAPH_UNKNOWN"


class NotWaiting(Misuse):
    """This paragraph does not wait for a person."""

    code = "NOT_WAITING"


def ask_round(toolchain: Toolchain, told: ParagraphHistory, wanted: ParagraphInput, asked: Decision) -> Job:
    """Submit the next round of a paragraph."""
    number = len(told.planned.rounds) + 1
    payload = {
        "wanted": wanted.payload(),
        "asked": replace(asked, number=number).plain(),
        "last": [one.plain() for one in told.tries[-LAST_MAX:]],
    }
    try:
        return toolchain.app.submit(toolchain.round, payload, key=f"{told.planned.key}{ROUND_MARK}{number}")
    except KeyConflict:
        raise NotWaiting(f"Somebody else decided about paragraph {told.paragraph.index} just now.") from None


def settle(toolchain: Toolchain, document: Document, index: int, asked: Decision) -> ParagraphHistory:
    """Decide about a paragraph that waits, and return its story as it was."""
    (told,) = settle_all(toolchain, document, [index], asked)
    return told


def settle_all(
    toolchain: Toolchain, document: Document, indexes: Sequence[int], asked: Decision
) -> Iterator[ParagraphHistory]:
    """Decide about paragraphs if all of them wait, and yield the story of each as it was, when it is decided."""
    there = {one.paragraph.index: one for one in histories(toolchain, document)}
    chosen = [_waiting(there, index, len(document.paragraphs)) for index in dict.fromkeys(indexes)]
    wanted = dict(inputs_of(toolchain, document))
    for told in chosen:
        _decide(toolchain, ask_round(toolchain, told, wanted[told.planned.key], asked))
        yield told


def _waiting(there: Mapping[int, ParagraphHistory], index: int, count: int) -> ParagraphHistory:
    if not 1 <= index <= count:
        raise ParagraphUnknown(f"Paragraphs are numbered from 1 to {count:,}; this is {index}.")
    told = there.get(index)
    if told is None or told.state != states.REWORK_REQUIRED or not told.tries:
        raise NotWaiting(f"Paragraph {index} is {told.state if told else 'not planned yet'}.")
    if told.under_way:
        raise NotWaiting(f"What was asked about paragraph {index} before is not done yet: run the document again.")
    return told


def _decide(toolchain: Toolchain, job: Job) -> None:
    """Do what was asked for here and now; a worker that serves this run and was faster does the same."""
    try:
        held = toolchain.app.manual.hold(job.id, owner=OWNER, seconds=SECONDS)
    except JobNotFree:
        if job.wait(SECONDS).status != Status.DONE:
            raise
    else:
        held.done(toolchain.again(held.task, **job.payload))


def waiting(toolchain: Toolchain, document: Document) -> list[ParagraphHistory]:
    """Return the paragraphs that wait for a person, in their order."""
    found = histories(toolchain, document)
    return [one for one in found if one.state == states.REWORK_REQUIRED and one.tries and not one.under_way]
