"""One act on the outside world: its key, the intent that precedes it, and the record that follows. Pure."""

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.model.lease import Lease
from leasehold.model.limits import EFFECT_FIELDS_BYTES_MAX


class LedgerAnswer(StrEnum):
    ACT = "act"  # the intent is committed: it was not done, or it failed
    DONE = "done"  # it was done; the result is returned
    DOUBT = "doubt"  # an earlier attempt intended it and recorded no result
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
    task_id: int
    fence: int
    key: str
    verdict: str
    result: str | None


class UsedEffects(Struct, frozen=True):
    """What the end of an attempt records of the effects it got results of, in the order in which it asked for them.

    `effects` names each by the first digits of its key. Numbers would not do: every attempt counts from 1, and a row
    keeps the number of the attempt that made it. With `EFFECTS_MAX` effects the list has 190 kB. `effects_sha256`
    covers keys and results, so that an event on the hash chain fixes them.
    """

    effects: list[str]
    effects_sha256: str


def used(results: Iterable[tuple[str, str]]) -> UsedEffects:
    """Name effects, given as keys with the sha256 of their results, in order."""
    names, digest = [], hashlib.sha256()
    for key, result_sha256 in results:
        names.append(name_of(key))
        digest.update(f"{key}:{result_sha256}\n".encode())
    return UsedEffects(names, digest.hexdigest())


def name_of(key: str) -> str:
    """Shorten an effect's key for the list of used effects: 64 bits distinguish the effects of one job."""
    return key[:16]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def identity_of(kind: str, key: str, stage: str | None, segment: int | None) -> str:
    """Name a task the same way on every machine and in every database, as canonical JSON."""
    named: dict[str, Any] = {"key": key, "kind": kind}
    if stage is not None:
        named["stage"] = stage
    if segment is not None:
        named["segment"] = segment
    return canonical.encode(named)


def identity_of_lease(lease: Lease) -> str:
    """Name the task of a lease, as `identity_of` does."""
    return identity_of(lease.kind, lease.key, lease.stage, lease.segment)


def key_of(identity: str, kind: str, fields: str) -> str:
    """Make an effect's key: the sha256 of the canonical JSON of kind, task and fields.

    A document of canonical parts in the order of their names is canonical; JSON writes the name `kind` without escapes.
    """
    return sha256(f'{{"fields":{fields},"kind":"{kind}","task":{identity},"v":1}}')


def intend(lease: Lease, kind: str, fields: dict[str, Any], number: int, identity: str = "") -> Intent:
    """Make the intent of an effect. `identity`: the task's `identity_of`, from a caller that keeps it."""
    text = canonical.encode(fields, limit=EFFECT_FIELDS_BYTES_MAX)
    key = key_of(identity or identity_of_lease(lease), kind, text)
    return Intent(lease.job_id, key, lease.task_id, lease.fence, lease.attempt, number, kind, text)


def done(intent: Intent, result: str) -> Record:
    return Record(intent.job_id, intent.key, intent.task_id, intent.fence, result=result)


def failed(intent: Intent, failure: str) -> Record:
    return Record(intent.job_id, intent.key, intent.task_id, intent.fence, failure=failure)
