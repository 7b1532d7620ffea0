"""Dead letters as people and programs see them: what failed, and what was done about it.

The context is built from an allow-list: ids, counts, codes and short hashes. Neither payload nor message can get in;
the message is shown by itself, as it was redacted when it was stored.
"""

import hashlib
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leasehold import canonical, clock
from leasehold.model.failure.facts import NUMBERS, WORDS
from leasehold.model.revival import LetterState
from leasehold.shapes import View, from_fields
from leasehold.store import Store
from leasehold.store.deadletters import NOUN, DeadLetterSource, LetterFilter, LetterRow

HASH_LENGTH: Final = 16
FACTS: Final = (*sorted(NUMBERS), *WORDS)
TASK_FACTS: Final = (
    "job_id", "task_id", "kind", "stage", "segment", "attempts", "attempts_max", "losses", "fence", "epoch",
    "error_class",
)  # fmt: skip


class DeadLetter(View, frozen=True):
    """One dead letter. `losses` of its attempts lost their worker. `escalated`: it failed again after a revival."""

    id: int
    job_id: int
    task_id: int
    kind: str
    stage: str | None
    segment: int | None
    error_class: str
    attempts: int
    losses: int
    epoch: int
    first_failure_at: datetime
    last_failure_at: datetime
    escalated: bool
    state: LetterState
    evidenced: bool
    message: str  # redacted when the attempt failed


class AuditEntry(View, frozen=True):
    at: datetime
    principal: str
    action: str
    detail: dict[str, Any]


class Burial(Struct, frozen=True):
    letter: DeadLetter
    actions: list[AuditEntry]


class DeadLetterDetail(Struct, frozen=True):
    """A letter in full, with every burial of its task, oldest first."""

    letter: DeadLetter
    last_stack: str
    sanitized_context: dict[str, Any]
    history: list[Burial]

    def plain(self) -> dict[str, Any]:
        history = [{**one.letter.plain(), "audit": [action.plain() for action in one.actions]} for one in self.history]
        return {
            **self.letter.plain(),
            "last_stack": self.last_stack,
            "sanitized_context": self.sanitized_context,
            "history": history,
        }


def listing(store: Store, where: LetterFilter, limit: int) -> list[DeadLetter]:
    return [_view(row) for row in store.deadletters.list(where, limit)]


def of_job(store: Store, job_id: int) -> list[DeadLetter]:
    return [_view(row) for row in store.deadletters.of(job_id)]


def find(store: Store, letter_id: int) -> DeadLetterDetail:
    """Read one letter in full, or raise `LetterUnknown`."""
    source = store.deadletters.get(letter_id)
    failure = canonical.decode(source.failure)
    burials = store.deadletters.of(source.letter.job_id, source.letter.task_id)
    return DeadLetterDetail(
        letter=_view(source.letter),
        last_stack=str(failure.get("stack", "")),
        sanitized_context=context_of(source),
        history=[Burial(_view(row), actions(store, row.id)) for row in burials],
    )


def actions(store: Store, letter_id: int) -> list[AuditEntry]:
    """Read the audit trail of one letter, oldest first."""
    return [
        AuditEntry(clock.moment(line.at), line.principal, line.action, canonical.decode(line.detail))
        for line in store.audit.list(NOUN, letter_id)
    ]


def context_of(source: DeadLetterSource) -> dict[str, Any]:
    """Build a letter's sanitized context from the fields that are allowed, and from nothing else."""
    context = canonical.decode(source.failure).get("context")
    facts = context if isinstance(context, dict) else {}
    found = {name: getattr(source.letter, name) for name in TASK_FACTS}
    found |= {name: facts[name] for name in FACTS if isinstance(facts.get(name), str | int)}
    return found | {"payload_sha256": _hash(source.payload), "key_sha256": _hash(source.key)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:HASH_LENGTH]


def _view(row: LetterRow) -> DeadLetter:
    return from_fields(
        DeadLetter,
        row,
        first_failure_at=clock.moment(row.first_failure_at),
        last_failure_at=clock.moment(row.last_failure_at),
        state=LetterState(row.state),
        message=str(canonical.decode(row.failure).get("message", "")),
    )
