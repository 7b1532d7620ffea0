"""What there is to do for a document as it stands now: new paragraphs planned, gone ones called off, failed ones again.

A paragraph that was planned before is left as it is, wherever it stands in the document: nothing is translated twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from leasehold import Status
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.decisions import Asked, Verdict
from leasehold.pipelines.translate.documents import Document
from leasehold.pipelines.translate.history import Place, places, story, wanted_of
from leasehold.pipelines.translate.paragraphs import Wanted
from leasehold.pipelines.translate.rounds import ask_round
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain

GONE: Final = "no longer in the document"
EVIDENCE: Final = "run again with leasehold translate"
LETTERS_MAX: Final = 500
PERSON: Final = "leasehold translate --rework-only"


@dataclass(frozen=True, slots=True)
class Planned:
    """How many paragraphs there are, and how many of them are new, tried again after a failure, or called off."""

    total: int
    new: int
    revived: int
    called_off: int


def plan(toolchain: Toolchain, document: Document) -> Planned:
    """Plan what a document has and nobody has planned."""
    wanted = wanted_of(toolchain, document)
    there = places(toolchain)
    still = dict(wanted)
    gone = [place for key, place in there.items() if key not in still]
    called_off = sum(_call_off(toolchain, place) for place in gone)
    new = [(key, one) for key, one in wanted if key not in there]
    toolchain.plan(new)
    again = [(there[key], one) for key, one in wanted if key in there]
    back = sum(_bring_back(toolchain, place, one) for place, one in again)
    return Planned(len(wanted), len(new) + back, revive(toolchain), called_off)


def _call_off(toolchain: Toolchain, place: Place) -> bool:
    """Call off what has not ended."""
    if place.state in states.ENDS:
        return False
    job = toolchain.app.get(place.job_id)
    if job.status.settled:
        return False
    job.cancel(GONE)
    return True


def _bring_back(toolchain: Toolchain, place: Place, wanted: Wanted) -> bool:
    """Plan a paragraph anew that was taken out of the document before it was done, and is in it again."""
    if place.state in states.ENDS or toolchain.app.get(place.job_id).status != Status.CANCELLED:
        return False
    toolchain.app.submit(toolchain.kind, wanted.payload(), key=place.key, version=place.version + 1)
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
    there, count = places(toolchain), 0
    for (key, wanted), paragraph in zip(wanted_of(toolchain, document), document.paragraphs, strict=True):
        place = there.get(key)
        if place is not None and place.state == states.REWORK_REQUIRED:
            told = story(toolchain, paragraph, place)
            if told.tries and not told.under_way:  # a round that was cut off is gone on with, not asked for again
                ask_round(toolchain, told, wanted, Asked(Verdict.RETRY, PERSON))
                count += 1
    return count
