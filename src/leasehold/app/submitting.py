"""From what a caller passes to what the store is given.

Payloads, keys and options, checked before anything is written.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from leasehold import canonical, clock
from leasehold.app.kinds import Registry
from leasehold.app.opening import Opening
from leasehold.errors import KindUnknown, OptionInvalid, PayloadInvalid
from leasehold.model.graph import Definition
from leasehold.model.limits import DELAY_SECONDS_MAX, PRIORITY_MAX, PRIORITY_MIN, VERSION_MAX
from leasehold.model.names import check_key, check_name, check_range, check_whole
from leasehold.model.task import Submission, Submitted
from leasehold.store import Store
from leasehold.store.wake import ATTENTION


@dataclass(frozen=True, slots=True)
class Options:
    """How jobs are submitted: higher priority first, not before `delay` seconds from now."""

    priority: int = 0
    delay: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what lies outside its limits."""
        check_range(self.priority, PRIORITY_MIN, PRIORITY_MAX, "priority")
        check_range(self.delay, 0, DELAY_SECONDS_MAX, "delay (seconds)")
        if not isinstance(self.priority, int):
            raise OptionInvalid(f"priority is a whole number; got {self.priority}.")


def definition_of(what: object, registry: Registry, opening: Opening) -> Definition:
    """Return what a kind is: registered here, or published by another process."""
    known = registry.find(what)
    if known is not None:
        return known.definition
    name = check_name(what, "kind")
    published = opening.definition(name)
    if published is None:
        raise KindUnknown(f"The kind is '{name}'. A worker publishes its kinds when it starts.")
    return published


def check_payload(what: object, registry: Registry, payload: object) -> str:
    """Return a payload as canonical JSON; its fields must fit the handler's arguments where the handler is known."""
    fields = {} if payload is None else payload
    if not isinstance(fields, Mapping):
        raise PayloadInvalid(f"A payload is an object whose fields become arguments; got {type(fields).__name__}.")
    text = canonical.encode(dict(fields))
    known = registry.find(what)
    for handler in known.handlers() if known is not None else []:
        handler.check(fields)
    return text


def make_submissions(
    definition: Definition, payloads: Sequence[str], keys: Sequence[str | None], options: Options
) -> list[Submission]:
    """Put together what the store is given; a job without a key gets one that nobody else has."""
    delay_us = clock.microseconds(options.delay)
    return [
        Submission(
            kind=definition.kind,
            key=_own_key() if key is None else check_key(key),
            payload=payload,
            terms=definition.terms,
            priority=options.priority,
            delay_us=delay_us,
            unmet=len(definition.stages),
        )
        for payload, key in zip(payloads, keys, strict=True)
    ]


def submit(store: Store, definition: Definition, submissions: list[Submission]) -> list[Submitted]:
    """Write jobs, all or none, and hint to workers that they are there."""
    if definition.stages:
        answers = store.tasks.submit_pipelines(submissions, definition)
    else:
        answers = store.tasks.submit(submissions)
    _announce(store, definition, submissions, answers)
    return answers


def submit_version(store: Store, definition: Definition, submission: Submission, version: int) -> Submitted:
    """Write a version of a job: what is submitted under `key` stands under `key@version`."""
    check_whole(version, 1, VERSION_MAX, "version")
    own = structs.replace(submission, key=check_key(f"{submission.key}@{version}"))
    answer = store.reruns.submit(own, definition, submission.key, version)
    _announce(store, definition, [own], [answer])
    return answer


def _announce(
    store: Store, definition: Definition, submissions: Sequence[Submission], answers: Sequence[Submitted]
) -> None:
    first = [stage.terms.queue for stage in definition.stages if not stage.after]
    if not store.database.is_bound and any(answer.created for answer in answers):
        hint = {ATTENTION} if any(one.delay_us for one in submissions) else set()
        store.wake({*(first or [definition.terms.queue]), *hint})


def _own_key() -> str:
    """Return a key nobody else has, in order of time, so that an index on it stays compact."""
    return f"{time.time_ns():016x}-{secrets.token_hex(8)}"
