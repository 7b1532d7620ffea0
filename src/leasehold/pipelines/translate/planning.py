"""Planning a document as it is now: new paragraphs are submitted, removed ones cancelled, failed ones revived.

A paragraph that was planned before stays as it is, wherever it is in the document: nothing is translated twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from leasehold import Status
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.decisions import submit_round
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.history import PlannedParagraph, history_of, inputs_of, planned_paragraphs
from leasehold.pipelines.translate.paragraphs import Decision, DecisionKind, ParagraphInput, plain
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain

GONE: Final = "no longer in the document"
EVIDENCE: Final = "run again with leasehold translate"
LETTERS_MAX: Final = 500
PERSON: Final = "leasehold translate --rework-only"


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """How many paragraphs there are, and how many of them are new, revived after a failure, or cancelled."""

    total: int
    new: int
    revived: int
    cancelled: int


def plan(toolchain: Toolchain, document: Document) -> PlanCounts:
    """Submit the paragraphs that are new, cancel those that are gone, revive those that failed."""
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
    job = toolchain.app.get(planned.job_id)
    if job.status.settled:
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
            if history.tries and not history.under_way:  # a round that was cut off is resumed, not submitted twice
                submit_round(toolchain, history, paragraph, Decision(DecisionKind.RETRY, PERSON))
                count += 1
    return PlanCounts(len(document.paragraphs), 0, count, 0)
