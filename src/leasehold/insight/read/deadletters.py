"""Dead letters as people and programs see them: what failed, and what was done about it.

The context is built from an allow-list: ids, counts, codes and short hashes. Neither payload nor message can get in.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.model.failure.facts import NUMBERS, WORDS
from leasehold.model.revival import LetterState
from leasehold.store import Store
from leasehold.store.audit import AuditLine
from leasehold.store.deadletters import NOUN, DeadLetterSource, LetterRow, Where

HASH_LENGTH: Final = 16
FACTS: Final = (*sorted(NUMBERS), *WORDS)
TASK_FACTS: Final = (
    "job_id", "task_id", "kind", "stage", "segment", "attempts", "attempts_max", "fence", "epoch", "error_class",
)  # fmt: skip


class DeadLetter(Struct, frozen=True):
    """One dead letter. `escalated`: it failed again after a revival, in the same way."""

    id: int
    job_id: int
    task_id: int
    kind: str
    stage: str | None
    segment: int | None
    error_class: str
    attempts: int
    epoch: int
    first_failure_at: datetime
    last_failure_at: datetime
    escalated: bool
    state: LetterState
    evidenced: bool

    def plain(self) -> dict[str, Any]:
        """Return the letter as JSON-able fields, times in ISO 8601 (UTC)."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        for name in ("first_failure_at", "last_failure_at"):
            found[name] = found[name].isoformat()
        return {**found, "state": self.state.value}


class AuditEntry(Struct, frozen=True):
    """One line of the audit trail."""

    at: datetime
    principal: str
    action: str
    detail: dict[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return the line as JSON-able fields."""
        return {"at": self.at.isoformat(), "principal": self.principal, "action": self.action, "detail": self.detail}


class Burial(Struct, frozen=True):
    """One burial of the task, and what was done about it."""

    letter: DeadLetter
    deeds: list[AuditEntry]


class DeadLetterDetail(Struct, frozen=True):
    """A letter in full, with every burial of its task, oldest first."""

    letter: DeadLetter
    last_stack: str
    sanitized_context: dict[str, Any]
    history: list[Burial]

    def plain(self) -> dict[str, Any]:
        """Return everything as JSON-able fields."""
        history = [{**one.letter.plain(), "audit": [deed.plain() for deed in one.deeds]} for one in self.history]
        return {
            **self.letter.plain(),
            "last_stack": self.last_stack,
            "sanitized_context": self.sanitized_context,
            "history": history,
        }


def listing(store: Store, where: Where, limit: int) -> list[DeadLetter]:
    """List letters, newest first."""
    return [_view(row) for row in store.deadletters.list(where, limit)]


def of_job(store: Store, job_id: int) -> list[DeadLetter]:
    """List the letters of a job, oldest first."""
    return [_view(row) for row in store.deadletters.of(job_id)]


def find(store: Store, letter_id: int) -> DeadLetterDetail:
    """Read one letter in full, or raise `LetterUnknown`."""
    papers = store.deadletters.get(letter_id)
    failure = canonical.decode(papers.failure)
    burials = store.deadletters.of(papers.letter.job_id, papers.letter.task_id)
    return DeadLetterDetail(
        letter=_view(papers.letter),
        last_stack=str(failure.get("stack", "")),
        sanitized_context=context_of(papers),
        history=[Burial(_view(row), deeds(store, row.id)) for row in burials],
    )


def deeds(store: Store, letter_id: int) -> list[AuditEntry]:
    """Read what was done about one letter, oldest first."""
    return [_deed(line) for line in store.audit.list(NOUN, letter_id)]


def context_of(papers: DeadLetterSource) -> dict[str, Any]:
    """Build a letter's sanitized context from the fields that are allowed, and from nothing else."""
    told = canonical.decode(papers.failure).get("context")
    facts = told if isinstance(told, dict) else {}
    found = {name: getattr(papers.letter, name) for name in TASK_FACTS}
    found |= {name: facts[name] for name in FACTS if isinstance(facts.get(name), str | int)}
    return found | {"payload_sha256": _hash(papers.payload), "key_sha256": _hash(papers.key)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:HASH_LENGTH]


def _view(row: LetterRow) -> DeadLetter:
    return DeadLetter(
        id=row.id,
        job_id=row.job_id,
        task_id=row.task_id,
        kind=row.kind,
        stage=row.stage,
        segment=row.segment,
        error_class=row.error_class,
        attempts=row.attempts,
        epoch=row.epoch,
        first_failure_at=_moment(row.first_failure_at),
        last_failure_at=_moment(row.last_failure_at),
        escalated=row.escalated,
        state=LetterState(row.state),
        evidenced=row.evidenced,
    )


def _deed(line: AuditLine) -> AuditEntry:
    return AuditEntry(_moment(line.at), line.principal, line.action, canonical.decode(line.detail))


def _moment(microseconds: int) -> datetime:
    found = clock.moment(microseconds)
    assert found is not None
    return found
