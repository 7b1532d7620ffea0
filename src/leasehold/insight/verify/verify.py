"""Verify a job: its events are folded and compared with the tables; the first difference is reported."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from leasehold.errors import JobUnknown, RecordDamaged
from leasehold.insight.record import RecordBuilder, Recording, read_lines
from leasehold.insight.verify.effects import EffectCheck, MessageCheck, messages_differ
from leasehold.insight.verify.hash_chain import marks_differ, waits_differ
from leasehold.insight.verify.outcomes import LetterCheck, ends_differ, states_differ, texts_differ
from leasehold.insight.verify.rows import RowCheck, TransitionCheck
from leasehold.insight.verify.tree import budgets_differ, spends_differ, tree_differs
from leasehold.model.failure.loss import ready_route
from leasehold.model.journal.fold import LEASE, NOWHERE, OUTCOME, READY, WAITING, Difference, TaskState, compare
from leasehold.model.journal.record import RecordCounts, TaskRecord
from leasehold.model.names import route
from leasehold.shapes import from_fields
from leasehold.store import Store
from leasehold.store.records import StoredTask


class Verification(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a verification found. `head` is the head of the chain over the job's events; keep it to compare later."""

    equal: bool
    tasks: int = 0
    events: int = 0
    effects: int = 0
    head: str = ""
    difference: str = ""
    not_compared: str = ""  # the first thing that could not be compared; it may have been pruned with another job


@dataclass(slots=True)
class _Checks:
    rows: RowCheck = field(default_factory=RowCheck)
    effects: EffectCheck = field(default_factory=EffectCheck)
    letters: LetterCheck = field(default_factory=LetterCheck)
    messages: MessageCheck = field(default_factory=MessageCheck)
    moves: TransitionCheck = field(default_factory=TransitionCheck)


def verify_job(store: Store, job_id: int) -> Verification:
    """Compare a job's journal with the tables at one moment, live or not; or raise `JobUnknown`."""
    return store.records.read(job_id, lambda parts: _verify(job_id, parts))


def _verify(job_id: int, parts: Iterator[StoredTask]) -> Verification:
    counts, builder, checks = RecordCounts(), RecordBuilder(), _Checks()
    difference = first = ""
    states: Mapping[str, str] = {}
    number = 0
    for number, part in enumerate(parts, 1):
        if number == 1:
            checks.effects = EffectCheck(part.task.kind, part.task.key)
            first, states = _first_differs(job_id, part), part.states
        record = builder.record(number - 1, part)
        counts.add(record)
        checks.moves.follow(record)
        difference = difference or checks.rows.follow(record) or check_part(part, record, checks)
    if number == 0:
        raise JobUnknown(f"The id is {job_id}.")
    difference = difference or checks.rows.close() or first or checks.rows.end()
    difference = difference or checks.moves.end() or checks.moves.compare(states)
    return _verification(counts, difference, checks)


def _first_differs(job_id: int, part: StoredTask) -> str:
    if part.task.id != job_id:
        return f"the row of the job itself (id {job_id}) is missing"
    found = waits_differ(part) or budgets_differ(part)
    return part.orphan or ("" if found is None else f"task 0, {found.sentence()}")


def verify_file(path: Path) -> Verification:
    """Check a record's hashes, order and counts, and that its outcomes follow from its events."""
    counts, checks = RecordCounts(), _Checks()
    try:
        recording = Recording(read_lines(path))
        checks.effects = EffectCheck(recording.opening.kind, recording.opening.key)
        for record in recording.records():
            counts.add(record)
            checks.moves.follow(record)
            if difference := checks.rows.follow(record) or check_record(record, checks.effects, checks.letters):
                return _verification(counts, f"before line {recording.line}: {difference}", checks)
        return _verification(counts, checks.rows.end() or checks.moves.end(), checks)
    except RecordDamaged as error:
        return Verification(equal=False, difference=error.detail[:1].lower() + error.detail[1:].rstrip("."))


def _verification(counts: RecordCounts, difference: str, checks: _Checks) -> Verification:
    found, pruned = counts.closing(), checks.messages.pruned
    head = found.events_sha256
    return from_fields(Verification, found, equal=not difference, head=head, difference=difference, not_compared=pruned)


def check_part(part: StoredTask, record: TaskRecord, checks: _Checks) -> str:
    """Compare a task's events with every table; return the first difference, or ''."""
    state = compare(record)
    if isinstance(state, Difference):
        found: Difference | None = state
    else:  # a job's stages are counted when all are seen
        waits = None if part.task.stage is None else waits_differ(part)
        found = _place_differs(part, state) or ends_differ(record) or texts_differ(part) or waits
    found = found or checks.letters.differ(record) or states_differ(part) or checks.effects.differ(record)
    found = found or checks.messages.differ(part, record) or spends_differ(record) or tree_differs(part)
    if found is not None:
        return _sentence(record, found, part)
    difference = marks_differ(part)
    return f"{record.task.title}, {difference}" if difference else ""


def check_record(record: TaskRecord, effects: EffectCheck, letters: LetterCheck | None = None) -> str:
    """Compare a recorded task's events with what else is recorded of it; return the first difference, or ''."""
    state = compare(record)
    found = state if isinstance(state, Difference) else ends_differ(record)
    found = found or effects.differ(record) or messages_differ(record) or spends_differ(record)
    found = found or (letters.differ(record) if letters else None)
    return "" if found is None else _sentence(record, found)


def _sentence(record: TaskRecord, found: Difference, part: StoredTask | None = None) -> str:
    numbered = part is not None and found.event is not None and found.event <= len(part.events)
    id_text = f" (id {part.events[found.event - 1].id})" if part and found.event and numbered else ""
    return f"{record.task.title}, {found.sentence()}{id_text}"


def _place_differs(part: StoredTask, state: TaskState) -> Difference | None:
    task = part.task
    stands = [*task.place.split(), *(OUTCOME for one in part.outcomes if not one.past)] or [NOWHERE]
    if len(stands) != 1 or stands[0] not in state.places:
        return Difference("its place", " or ".join(sorted(state.places)), " and ".join(stands))
    if stands[0] not in (WAITING, READY, LEASE):
        return None
    facts: list[tuple[str, object, object]] = [
        ("its attempt", state.attempt, task.attempt),
        ("its losses", state.losses, task.losses),
        ("its fence", state.fence, task.fence),
        ("its epoch", state.epoch, task.stored_epoch),
        ("the time it waits for", state.due_at, task.due_at if state.due_at is not None else None),
    ]
    if stands[0] == READY:
        facts += [
            ("its queue", task.queue, task.ready_queue),
            ("its priority", task.priority, task.ready_priority),
            ("its route", ready_route(route(task.kind, task.stage), state.losses), task.ready_route),
        ]
    differing = (one for one in facts if one[1] != one[2])
    return next((Difference(f"{name} in '{stands[0]}'", expected, found) for name, expected, found in differing), None)
