"""Does the journal tell what the tables hold? A job's events are folded and compared; the first difference is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from leasehold.errors import JobUnknown, RecordDamaged
from leasehold.insight.export import Teller
from leasehold.insight.recording import Recording, read_lines
from leasehold.insight.verify_effects import Effects
from leasehold.insight.verify_ends import ends_differ, texts_differ
from leasehold.insight.verify_rows import Rows
from leasehold.model.chain import link, root
from leasehold.model.event import Name
from leasehold.model.fold import LEASE, NOWHERE, OUTCOME, READY, WAITING, Difference, State, compare
from leasehold.model.record import Story, Tally
from leasehold.model.status import Status
from leasehold.store import Store
from leasehold.store.history import Part


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a verification found. `head` is the head of the chain over the job's events; keep it to compare later."""

    equal: bool
    tasks: int = 0
    events: int = 0
    effects: int = 0
    head: str = ""
    difference: str = ""


def verify_job(store: Store, job_id: int) -> Verdict:
    """Compare a job's journal with the tables at one moment, live or not; or raise `JobUnknown`."""
    return store.history.read(job_id, lambda parts: _verify(job_id, parts))


def _verify(job_id: int, parts: Iterator[Part]) -> Verdict:
    tally, teller, rows, effects = Tally(), Teller(), Rows(), Effects()
    difference = first = ""
    number = 0
    for number, part in enumerate(parts, 1):
        if number == 1:
            effects = Effects(part.task.kind, part.task.key)
            first = _first_differs(job_id, part)
        story = teller.story(number - 1, part)
        tally.see(story)
        difference = difference or rows.follow(story) or check_part(part, story, effects)
    if number == 0:
        raise JobUnknown(f"The id is {job_id}.")
    return _verdict(tally, difference or rows.close() or first)


def _first_differs(job_id: int, part: Part) -> str:
    return part.stray if part.task.id == job_id else f"the row of the job itself (id {job_id}) is missing"


def verify_file(path: Path) -> Verdict:
    """Check a record's hashes, its order and its counts, and that its events tell its outcomes."""
    rows, tally = Rows(), Tally()
    try:
        recording = Recording(read_lines(path))
        effects = Effects(recording.opening.kind, recording.opening.key)
        for story in recording.stories():
            tally.see(story)
            if said := rows.follow(story) or check_story(story, effects):
                return _verdict(tally, f"before line {recording.line}: {said}")
        return _verdict(tally, rows.close())
    except RecordDamaged as error:
        return Verdict(equal=False, difference=error.detail[:1].lower() + error.detail[1:].rstrip("."))


def _verdict(tally: Tally, difference: str) -> Verdict:
    found = tally.closing()
    return Verdict(
        equal=not difference,
        tasks=found.tasks,
        events=found.events,
        effects=found.effects,
        head=found.events_sha256,
        difference=difference,
    )


def check_part(part: Part, story: Story, effects: Effects) -> str:
    """Compare a task's events with every table it stands in; say the first difference, or nothing."""
    state = compare(story)
    found: Difference | None
    if isinstance(state, State):
        found = _place_differs(part, state) or ends_differ(story) or texts_differ(part) or effects.differ(story)
    else:
        found = state
    if found is not None:
        return _say(story, found, part)
    said = check_marks(part)
    return f"{story.task.title}, {said}" if said else ""


def check_story(story: Story, effects: Effects) -> str:
    """Compare a recorded task's events with its own outcomes and effects; say the first difference, or nothing."""
    state = compare(story)
    found = state if isinstance(state, Difference) else ends_differ(story) or effects.differ(story)
    return "" if found is None else _say(story, found)


def check_marks(part: Part) -> str:
    """Check the chain of marks over a task's events; say the first that does not fit, or nothing."""
    task = part.task
    marks = dict(part.marks)
    outputs = {one.fence: one.output for one in part.outcomes if one.status == Status.DONE}
    before: bytes | None = root(task.kind, task.stage, task.segment, task.key, task.payload, task.item)
    unmarked = True
    for number, event in enumerate(part.events, 1):
        found = marks.get(event.id)
        if found is None and unmarked:  # written before there were marks
            before = None
            continue
        unmarked = False
        output = (outputs.get(event.fence) or "") if event.name == Name.DONE and event.fence is not None else None
        if link(before, event, output) != found:
            return (
                f"event {number} (id {event.id}, '{event.name}') does not fit the chain: it or one before was changed"
            )
        before = found
    if None in marks and marks[None] != before:
        return f"event {len(part.events) + 1} is missing: the chain goes on after the last one there is"
    return ""


def _say(story: Story, found: Difference, part: Part | None = None) -> str:
    numbered = part is not None and found.event is not None and found.event <= len(part.events)
    told = f" (id {part.events[found.event - 1].id})" if part and found.event and numbered else ""
    return f"{story.task.title}, {found.sentence()}{told}"


def _place_differs(part: Part, state: State) -> Difference | None:
    task = part.task
    stands = [*task.place.split(), *(OUTCOME for one in part.outcomes if not one.past)] or [NOWHERE]
    if len(stands) != 1 or stands[0] not in state.places:
        return Difference("its place", " or ".join(sorted(state.places)), " and ".join(stands))
    if stands[0] not in (WAITING, READY, LEASE):
        return None
    for name, expected, found in (
        ("its attempt", state.attempt, task.attempt),
        ("its fence", state.fence, task.fence),
        ("its epoch", state.epoch, task.standing_epoch),
        ("the time it waits for", state.due_at, task.due_at if state.due_at is not None else None),
    ):
        if expected != found:
            return Difference(f"{name} in '{stands[0]}'", expected, found)
    return None
