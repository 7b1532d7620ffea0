"""What there is to do for a document as it stands now: new paragraphs planned, gone ones called off, failed ones again.

A paragraph that was planned before is left as it is, wherever it stands in the document: nothing is translated twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from leasehold import Status
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.decisions import Decision, DecisionKind
from leasehold.pipelines.translate.documents import Document
from leasehold.pipelines.translate.history import PlannedParagraph, history_of, inputs_of, planned_paragraphs
from leasehold.pipelines.translate.paragraphs import ParagraphInput
from leasehold.pipelines.translate.rounds import ask_round
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain

GONE: Final = "no longer in the document"
EVIDENCE: Final = "run again with leasehold translate"
LETTERS_MAX: Final = 500
PERSON: Final = "leasehold translate --rework-only"


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """How many paragraphs there are, and how many of them are new, tried again after a failure, or called off."""

    total: int
    new: int
    revived: int
    called_off: int


def plan(toolchain: Toolchain, document: Document) -> PlanCounts:
    """Plan what a document has and nobody has planned."""
    wanted = inputs_of(toolchain, document)
    there = planned_paragraphs(toolchain)
    still = dict(wanted)
    gone = [planned for key, planned in there.items() if key not in still]
    called_off = sum(_call_off(toolchain, planned) for planned in gone)
    new = [(key, one) for key, one in wanted if key not in there]
    toolchain.plan(new)
    again = [(there[key], one) for key, one in wanted if key in there]
    back = sum(_bring_back(toolchain, planned, one) for planned, one in again)
    return PlanCounts(len(wanted), len(new) + back, revive(toolchain), called_off)


def _call_off(toolchain: Toolchain, planned: PlannedParagraph) -> bool:
    """Call off what has not ended."""
    if planned.state in states.ENDS:
        return False
    job = toolchain.app.get(planned.job_id)
    if job.status.settled:
        return False
    job.cancel(GONE)
    return True


def _bring_back(toolchain: Toolchain, planned: PlannedParagraph, wanted: ParagraphInput) -> bool:
    """Plan a paragraph anew that was taken out of the document before it was done, and is in it again."""
    if planned.state in states.ENDS or toolchain.app.get(planned.job_id).status != Status.CANCELLED:
        return False
    toolchain.app.submit(toolchain.kind, wanted.payload(), key=planned.key, version=planned.version + 1)
    return True


def revive(toolchain: Toolchain) -> int:
    """Bring back what failed for good, of this run alone; whoever runs the command again has seen why."""
    count = 0
    for kind in (KIND, ROUND):
        for letter_id, job_id in _letters(toolchain, kind):
            if toolchain.app.get(job_id).key.startswith(toolchain.prefix):
                toolchain.app.deadletters.evidence(letter_id, EVIDENCE)
                toolchain.app.deadletters.revive(letter_id)
                count += 1
    return count


def _letters(toolchain: Toolchain, kind: str) -> Iterator[tuple[int, int]]:
    """Yield every open letter of a kind with its job, also where another run has left many in the same database."""
    before = None
    while found := toolchain.app.deadletters.list(kind=kind, state="open", limit=LETTERS_MAX, before=before):
        yield from ((letter.id, letter.job_id) for letter in found)
        before = found[-1].id


def rework(toolchain: Toolchain, document: Document) -> int:
    """Ask for another round of every paragraph that waits for a person."""
    there, count = planned_paragraphs(toolchain), 0
    for (key, wanted), paragraph in zip(inputs_of(toolchain, document), document.paragraphs, strict=True):
        planned = there.get(key)
        if planned is not None and planned.state == states.REWORK_REQUIRED:
            told = history_of(toolchain, paragraph, planned)
            if told.tries and not told.under_way:  # a round that was cut off is gone on with, not asked for again
                ask_round(toolchain, told, wanted, Decision(DecisionKind.RETRY, PERSON))
                count += 1
    return count
