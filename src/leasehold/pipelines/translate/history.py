"""The history of a run's paragraphs, read from the database: jobs, states, tries, and when each state was entered."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from leasehold import Job, Status
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Document, Paragraph
from leasehold.pipelines.translate.paragraphs import PASS_OUTPUT, ParagraphInput, Try, timestamp
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain
from leasehold.shapes import from_fields

MOVED: Final = "moved"
NEIGHBOUR_LENGTH_MAX: Final = 2_000
ROUND_SEPARATOR: Final = "#"
VERSION_SEPARATOR: Final = "@"


@dataclass(frozen=True, slots=True)
class PlannedParagraph:
    """A paragraph's jobs, its own and the rounds that followed, and the state it is in."""

    key: str
    job_id: int
    state: str
    rounds: tuple[int, ...] = ()
    version: int = 0

    @property
    def last_job_id(self) -> int:
        return (self.job_id, *self.rounds)[-1]


@dataclass(frozen=True, slots=True)
class StateChange:
    state: str
    at: str


@dataclass(frozen=True, slots=True)
class ParagraphHistory:
    """Everything on record of a paragraph. `failure`: why it is stuck; `under_way`: its last job has not ended."""

    paragraph: Paragraph
    planned: PlannedParagraph
    changes: tuple[StateChange, ...]
    tries: tuple[Try, ...]
    failure: str = ""
    under_way: bool = False

    @property
    def state(self) -> str:
        """The latest state: never behind its tries, as `planned` may be, which was read before them."""
        return self.changes[-1].state

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a person."""
        return self.state == states.REWORK_REQUIRED and bool(self.tries) and not self.under_way


def planned_paragraphs(toolchain: Toolchain) -> dict[str, PlannedParagraph]:
    """Return the planned paragraphs of a run by key; also those that its document no longer has."""
    found: dict[str, PlannedParagraph] = {}
    for job in toolchain.app.machine.jobs(KIND, prefix=toolchain.prefix):
        key, _, version = job.key.partition(VERSION_SEPARATOR)
        planned = PlannedParagraph(key, job.job_id, job.state, version=int(version or 0))
        if key not in found or found[key].version < planned.version:
            found[key] = planned
    for job in sorted(toolchain.app.machine.jobs(ROUND, prefix=toolchain.prefix), key=lambda job: job.job_id):
        key, _, _ = job.key.rpartition(ROUND_SEPARATOR)
        found[key] = replace(found[key], state=job.state, rounds=(*found[key].rounds, job.job_id))
    return found


def inputs_of(toolchain: Toolchain, document: Document) -> list[tuple[str, ParagraphInput]]:
    """Return the paragraphs of a document as payloads of jobs, each with its key."""
    identity = toolchain.settings.identity
    texts = ["", *(paragraph.source for paragraph in document.paragraphs), ""]
    found = []
    for number, key in enumerate(toolchain.keys(document), start=1):
        before, after = texts[number - 1][-NEIGHBOUR_LENGTH_MAX:], texts[number + 1][:NEIGHBOUR_LENGTH_MAX]
        own = {"source": texts[number], "format": document.format, "before": before, "after": after}
        found.append((key, from_fields(ParagraphInput, identity, **own)))
    return found


def histories(toolchain: Toolchain, document: Document) -> Iterator[ParagraphHistory]:
    there = planned_paragraphs(toolchain)
    for key, paragraph in zip(toolchain.keys(document), document.paragraphs, strict=True):
        if (planned := there.get(key)) is not None:
            yield history_of(toolchain, paragraph, planned)


def history_of(toolchain: Toolchain, paragraph: Paragraph, planned: PlannedParagraph) -> ParagraphHistory:
    """Read one history while work may go on: states are read after the jobs, so no try is ahead of them."""
    jobs = [toolchain.app.get(job_id) for job_id in (planned.job_id, *planned.rounds)]
    changes = [StateChange(states.INGESTED, timestamp(jobs[0].created_at))]
    tries: list[Try] = []
    for job in jobs:
        changes += _changes(toolchain, job)
        if job.status == Status.DONE:
            tries += PASS_OUTPUT.convert(job.output["pass2"] if job.kind == KIND else job.output).tries
    last = jobs[-1]
    return ParagraphHistory(paragraph, planned, tuple(changes), tuple(tries), _failure(last), not last.status.settled)


def _changes(toolchain: Toolchain, job: Job) -> Iterator[StateChange]:
    after = 0
    while lines := toolchain.app.journal.of(job.id, after=after):
        for line in lines:
            if line.name == MOVED and line.detail is not None:
                yield StateChange(json.loads(line.detail)["to"], timestamp(datetime.fromtimestamp(line.at / 1e6, UTC)))
        after = lines[-1].id


def _failure(job: Job) -> str:
    if job.status == Status.CANCELLED:
        return "called off"
    if job.status != Status.ERROR or job.failure is None:
        return ""
    return f"{job.failure.get('error_class', '')}: {job.failure.get('message', '')}"
