"""Does the journal tell what the tables hold? A job's events are folded and compared; the first difference is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from leasehold.errors import JobUnknown, RecordDamaged
from leasehold.insight.record.export import RecordBuilder
from leasehold.insight.record.reader import Recording, read_lines
from leasehold.insight.verify.dead_letters import LetterCheck, states_differ
from leasehold.insight.verify.deliveries import MessageCheck, messages_differ
from leasehold.insight.verify.effects import EffectCheck
from leasehold.insight.verify.hash_chain import marks_differ, waits_differ
from leasehold.insight.verify.outcomes import ends_differ, texts_differ
from leasehold.insight.verify.rows import RowCheck
from leasehold.insight.verify.transitions import TransitionCheck
from leasehold.model.journal.fold import LEASE, NOWHERE, OUTCOME, READY, WAITING, Difference, TaskState, compare
from leasehold.model.journal.record import RecordCounts, TaskRecord
from leasehold.model.names import route
from leasehold.store import Store
from leasehold.store.records import StoredTask


class Verification(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a verification found. `head` is the head of the chain over the job's events; keep it to compare later.

    `not_compared`: the first thing that could not be compared, because it may have been pruned with another job.
    """

    equal: bool
    tasks: int = 0
    events: int = 0
    effects: int = 0
    head: str = ""
    difference: str = ""
    not_compared: str = ""


@dataclass(slots=True)
class _Followed:
    """What is followed from task to task of a job."""

    rows: RowCheck = field(default_factory=RowCheck)
    effects: EffectCheck = field(default_factory=EffectCheck)
    letters: LetterCheck = field(default_factory=LetterCheck)
    messages: MessageCheck = field(default_factory=MessageCheck)
    moves: TransitionCheck = field(default_factory=TransitionCheck)


def verify_job(store: Store, job_id: int) -> Verification:
    """Compare a job's journal with the tables at one moment, live or not; or raise `JobUnknown`."""
    return store.records.read(job_id, lambda parts: _verify(job_id, parts))


def _verify(job_id: int, parts: Iterator[StoredTask]) -> Verification:
    counts, builder, followed = RecordCounts(), RecordBuilder(), _Followed()
    difference = first = ""
    states: Mapping[str, str] = {}
    number = 0
    for number, part in enumerate(parts, 1):
        if number == 1:
            followed.effects = EffectCheck(part.task.kind, part.task.key)
            first, states = _first_differs(job_id, part), part.states
        record = builder.record(number - 1, part)
        counts.add(record)
        followed.moves.follow(record)
        difference = difference or followed.rows.follow(record) or check_part(part, record, followed)
    if number == 0:
        raise JobUnknown(f"The id is {job_id}.")
    difference = difference or followed.rows.close() or first or followed.rows.end()
    difference = difference or followed.moves.end() or followed.moves.compare(states)
    return _verdict(counts, difference, followed)


def _first_differs(job_id: int, part: StoredTask) -> str:
    if part.task.id != job_id:
        return f"the row of the job itself (id {job_id}) is missing"
    waits = waits_differ(part)
    return part.orphan or ("" if waits is None else f"task 0, {waits.sentence()}")


def verify_file(path: Path) -> Verification:
    """Check a record's hashes, its order and its counts, and that its events tell its outcomes."""
    counts, followed = RecordCounts(), _Followed()
    try:
        recording = Recording(read_lines(path))
        followed.effects = EffectCheck(recording.opening.kind, recording.opening.key)
        for record in recording.records():
            counts.add(record)
            followed.moves.follow(record)
            if said := followed.rows.follow(record) or _check_letters(record, followed):
                return _verdict(counts, f"before line {recording.line}: {said}", followed)
        return _verdict(counts, followed.rows.end() or followed.moves.end(), followed)
    except RecordDamaged as error:
        return Verification(equal=False, difference=error.detail[:1].lower() + error.detail[1:].rstrip("."))


def _check_letters(record: TaskRecord, followed: _Followed) -> str:
    if said := check_record(record, followed.effects):
        return said
    found = followed.letters.differ(record)
    return "" if found is None else _say(record, found)


def _verdict(counts: RecordCounts, difference: str, followed: _Followed) -> Verification:
    found = counts.closing()
    return Verification(
        equal=not difference,
        tasks=found.tasks,
        events=found.events,
        effects=found.effects,
        head=found.events_sha256,
        difference=difference,
        not_compared=followed.messages.pruned,
    )


def check_part(part: StoredTask, record: TaskRecord, followed: _Followed) -> str:
    """Compare a task's events with every table it stands in; say the first difference, or nothing."""
    state = compare(record)
    found = state if isinstance(state, Difference) else _part_differs(part, record, state)
    found = found or followed.letters.differ(record) or states_differ(part) or followed.effects.differ(record)
    found = found or followed.messages.differ(part, record)
    if found is not None:
        return _say(record, found, part)
    said = marks_differ(part)
    return f"{record.task.title}, {said}" if said else ""


def _part_differs(part: StoredTask, record: TaskRecord, state: TaskState) -> Difference | None:
    waits = None if part.task.stage is None else waits_differ(part)  # a job's stages are counted when all are seen
    return _place_differs(part, state) or ends_differ(record) or texts_differ(part) or waits


def check_record(record: TaskRecord, effects: EffectCheck) -> str:
    """Compare a recorded task's events with its ends, effects and messages; say the first difference, or nothing."""
    state = compare(record)
    found = state if isinstance(state, Difference) else ends_differ(record)
    found = found or effects.differ(record) or messages_differ(record)
    return "" if found is None else _say(record, found)


def _say(record: TaskRecord, found: Difference, part: StoredTask | None = None) -> str:
    numbered = part is not None and found.event is not None and found.event <= len(part.events)
    told = f" (id {part.events[found.event - 1].id})" if part and found.event and numbered else ""
    return f"{record.task.title}, {found.sentence()}{told}"


def _place_differs(part: StoredTask, state: TaskState) -> Difference | None:
    task = part.task
    stands = [*task.place.split(), *(OUTCOME for one in part.outcomes if not one.past)] or [NOWHERE]
    if len(stands) != 1 or stands[0] not in state.places:
        return Difference("its place", " or ".join(sorted(state.places)), " and ".join(stands))
    if stands[0] not in (WAITING, READY, LEASE):
        return None
    facts: list[tuple[str, object, object]] = [
        ("its attempt", state.attempt, task.attempt),
        ("its fence", state.fence, task.fence),
        ("its epoch", state.epoch, task.stored_epoch),
        ("the time it waits for", state.due_at, task.due_at if state.due_at is not None else None),
    ]
    if stands[0] == READY:
        facts += [
            ("its queue", task.queue, task.ready_queue),
            ("its priority", task.priority, task.ready_priority),
            ("its route", route(task.kind, task.stage), task.ready_route),
        ]
    differing = (one for one in facts if one[1] != one[2])
    return next((Difference(f"{name} in '{stands[0]}'", expected, found) for name, expected, found in differing), None)
