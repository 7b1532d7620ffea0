"""Check payloads, keys and options, and make the submissions that the store writes."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from msgspec import structs

from leasehold import canonical, clock
from leasehold.app.kinds import check_deadline
from leasehold.app.ready_store import ReadyStore
from leasehold.errors import KindUnknown, OptionInvalid, PayloadInvalid, did_you_mean, shown
from leasehold.model.graph import Definition
from leasehold.model.limits import DELAY_SECONDS_MAX, PRIORITY_MAX, PRIORITY_MIN, VERSION_MAX
from leasehold.model.names import branch_of, check_branch, check_key, check_name, check_range, check_whole
from leasehold.model.task import Submission, Submitted, Terms
from leasehold.model.tree.budget import check_budget
from leasehold.runtime.run import refuse_while_loading
from leasehold.store import Store
from leasehold.store.tasks import wake_hints

Budget = Mapping[str, int] | None
KEY_CHANCE = 8  # bytes of a key that nobody can guess or meet twice


@dataclass(frozen=True, slots=True)
class Scheduling:
    """When and where jobs run: higher priority first, after `delay` seconds, each in its branch of the queue.

    And how far: until a deadline, and within a budget of its own each.
    """

    priority: int = 0
    delay: float = 0.0
    branches: Sequence[str | None] | None = None
    deadline: float | None = None
    budget: Budget = None

    def __post_init__(self) -> None:
        check_range(self.priority, PRIORITY_MIN, PRIORITY_MAX, "priority")
        check_range(self.delay, 0, DELAY_SECONDS_MAX, "delay (seconds)")
        check_deadline(self.deadline)
        check_budget(self.budget)
        if not isinstance(self.priority, int):
            raise OptionInvalid(f"priority is a whole number; got {shown(self.priority)}.")


def prepare(
    ready_store: ReadyStore,
    what: object,
    payloads: Iterable[object],
    keys: Sequence[str | None] | None,
    scheduling: Scheduling,
) -> tuple[Definition, list[Submission]]:
    """Check payloads and options before anything is written; a job without a key gets a unique one."""
    refuse_while_loading()
    known = ready_store.registry.find(what)
    definition = _published(what, ready_store) if known is None else known.definition
    texts = [_check_payload(definition, payload) for payload in payloads]
    if known is not None:
        ready_store.publish_new(definition)
    own = _own_keys(len(texts))
    if keys is not None:
        own = [mine if key is None else check_key(key) for mine, key in zip(own, keys, strict=True)]
    if scheduling.deadline is not None:
        definition = structs.replace(definition, deadline_us=check_deadline(scheduling.deadline))
    kind, unmet = definition.kind, len(definition.stages)
    delay_us, priority = clock.microseconds(scheduling.delay), scheduling.priority
    branched = _branched(definition, scheduling.branches)
    return definition, [
        Submission(kind, key, text, branched[branch], priority, delay_us, unmet)
        for text, key, branch in zip(texts, own, scheduling.branches or repeat(None, len(texts)), strict=True)
    ]


def _published(what: object, ready_store: ReadyStore) -> Definition:
    name = check_name(what, "kind")
    if (found := ready_store.definition(name)) is None:
        known = {*ready_store.registry.names(), *ready_store.store.tasks.kinds()}
        hint = did_you_mean(name, known) or " A worker publishes its kinds when it starts."
        raise KindUnknown(f"The kind is '{name}'.{hint}")
    return found


def _check_payload(definition: Definition, payload: object) -> str:
    """Return a payload as canonical JSON; its fields must fit the handlers' arguments."""
    fields = {} if payload is None else payload
    if not isinstance(fields, Mapping):
        raise PayloadInvalid(f"A payload is an object whose fields become arguments; got {type(fields).__name__}.")
    text = canonical.encode(fields if type(fields) is dict else dict(fields))
    definition.check_fields(fields)
    return text


def check_types(ready_store: ReadyStore, kind: str, payload: object) -> None:
    """Raise `ArgumentsInvalid` if a field has another type than its handler's annotation names.

    For commands, where people type JSON: in Python a type checker looks at types, and a handler may accept more.
    """
    known = ready_store.registry.find(kind)
    definition = ready_store.definition(kind) if known is None else known.definition
    if definition is not None and isinstance(payload, Mapping):
        definition.check_types(payload)


def _branched(definition: Definition, branches: Sequence[str | None] | None) -> dict[str | None, Terms]:
    if branches is not None and definition.stages:
        raise OptionInvalid(f"'{definition.kind}' is a pipeline; branches are for plain jobs.")
    terms = definition.terms
    names = {branch for branch in branches or () if branch is not None}
    return {None: terms} | {
        name: structs.replace(terms, queue=branch_of(terms.queue, check_branch(name))) for name in names
    }


def submit(
    store: Store, definition: Definition, submissions: list[Submission], budget: Budget = None, *, are_new: bool = False
) -> list[Submitted]:
    """Write jobs, all or none, and notify workers. `are_new`: their keys were just made."""
    if definition.stages:
        write = partial(store.tasks.submit_pipelines, submissions, definition)
    elif are_new:
        write = partial(store.tasks.submit_new, submissions)
    else:
        write = partial(store.tasks.submit, submissions)
    answers = _with_terms(store, definition, budget, write)
    _announce(store, definition, submissions, answers)
    return answers


def _with_terms(
    store: Store, definition: Definition, budget: Budget, write: Callable[[], list[Submitted]]
) -> list[Submitted]:
    """Write jobs with their deadlines and budgets in one transaction. One that is there already keeps its own."""
    after_us, limits = definition.deadline_us, check_budget(budget)
    if after_us is None and limits is None:
        return write()

    def work() -> list[Submitted]:
        answers = write()
        created = [answer.id for answer in answers if answer.created]
        if after_us is not None:
            store.deadlines.add(created, after_us)
        if limits is not None:
            store.budgets.add(created, limits)
        return answers

    return store.database.in_one_transaction(work)


def submit_version(
    store: Store, definition: Definition, submission: Submission, version: int, budget: Budget = None
) -> Submitted:
    """Write a version of a job: what is submitted under `key` stands under `key@version`."""
    own = structs.replace(submission, key=check_key(versioned(submission.key, version)))
    write = partial(store.tasks.submit_version, own, definition, submission.key, version)
    [answer] = _with_terms(store, definition, budget, lambda: [write()])
    _announce(store, definition, [own], [answer])
    return answer


def versioned(key: str, version: int | None) -> str:
    """Return the key that a version of a job stands under."""
    return key if version is None else f"{key}@{check_whole(version, 1, VERSION_MAX, 'version')}"


def _announce(
    store: Store, definition: Definition, submissions: Sequence[Submission], answers: Sequence[Submitted]
) -> None:
    if any(answer.created for answer in answers):
        store.wake(wake_hints(definition, submissions))


def _own_keys(count: int) -> list[str]:
    """Return unique keys, in order of time, so that an index on them stays compact."""
    first, chance = time.time_ns(), secrets.token_hex(KEY_CHANCE * count)
    width = 2 * KEY_CHANCE
    return [f"{first + number:016x}-{chance[number * width : (number + 1) * width]}" for number in range(count)]
