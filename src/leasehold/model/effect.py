"""One act on the outside world: its key, the intent that precedes it, and the record that follows. Pure."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.model.lease import Lease
from leasehold.model.limits import EFFECT_FIELDS_BYTES_MAX


class Verdict(StrEnum):
    """What the ledger says when an effect is asked for."""

    ACT = "act"  # the intent is committed: nobody has done it, or it failed
    DONE = "done"  # it was done: here is the result
    DOUBT = "doubt"  # an earlier attempt intended it and was never heard of again
    RECORDED = "recorded"  # how it ended is on record


class Intent(Struct, frozen=True):
    """What an attempt is about to do. `fields` is canonical JSON."""

    job_id: int
    key: str
    task_id: int
    fence: int
    attempt: int
    number: int
    kind: str
    fields: str


class Record(Struct, frozen=True):
    """How an effect ended: with a result or with a failure (canonical JSON either)."""

    job_id: int
    key: str
    task_id: int
    fence: int
    result: str | None = None
    failure: str | None = None


class Entry(Struct, frozen=True):
    """The ledger's answer to one intent or record."""

    task_id: int
    fence: int
    key: str
    verdict: str
    result: str | None


def identity_of(lease: Lease) -> dict[str, Any]:
    """Name a task the same way on every machine and in every database."""
    found: dict[str, Any] = {"key": lease.key, "kind": lease.kind}
    if lease.stage is not None:
        found["stage"] = lease.stage
    if lease.segment is not None:
        found["segment"] = lease.segment
    return found


def intend(lease: Lease, kind: str, fields: dict[str, Any], number: int, identity: str = "") -> Intent:
    """Make the intent of an effect; its key is the sha256 of the canonical JSON of kind, task and fields.

    `identity` is the canonical JSON of `identity_of(lease)`, from whoever has it at hand. A document of canonical parts
    in the order of their names is canonical, and `kind` is a name that JSON writes as it is.
    """
    text = canonical.encode(fields, limit=EFFECT_FIELDS_BYTES_MAX)
    identity = identity or canonical.encode(identity_of(lease))
    document = f'{{"fields":{text},"kind":"{kind}","task":{identity},"v":1}}'
    key = hashlib.sha256(document.encode("utf-8")).hexdigest()
    return Intent(lease.job_id, key, lease.task_id, lease.fence, lease.attempt, number, kind, text)


def done(intent: Intent, result: str) -> Record:
    """Record that an effect was done."""
    return Record(intent.job_id, intent.key, intent.task_id, intent.fence, result=result)


def failed(intent: Intent, failure: str) -> Record:
    """Record that an effect failed: it was not done and may be tried again."""
    return Record(intent.job_id, intent.key, intent.task_id, intent.fence, failure=failure)
