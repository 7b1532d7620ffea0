"""Check the hash chain of a task's events: it begins with the task's facts; its head is stored with its place."""

from itertools import chain

from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.hash_chain import FACTS, link, root
from leasehold.model.limits import STAGES_MAX
from leasehold.model.status import Status
from leasehold.store.records import StoredTask


def marks_differ(part: StoredTask) -> str:
    """Check the marks of a task's events; return the first difference, or ''."""
    marks = dict(part.marks)
    outputs = {one.fence: one.output for one in part.outcomes if one.status == Status.DONE}
    waited = _waited(part)
    before: bytes | None = _root(part, part.task.unmet if waited is None else waited)
    unmarked = True
    for number, event in enumerate(part.events, 1):
        found = marks.get(event.id)
        if found is None and unmarked:  # written before there were marks
            before = None
            continue
        unmarked = False
        output = (outputs.get(event.fence) or "") if event.name == Name.DONE and event.fence is not None else None
        if link(before, event, output) != found:
            earlier = "what the task was submitted with" if number == 1 else "one before"
            return f"event {number} (id {event.id}, '{event.name}') does not fit the chain: it or {earlier} was changed"
        before = found
    if None in marks and marks[None] != before:
        return f"event {len(part.events) + 1} is missing: the chain goes on after the last one there is"
    return ""


def waits_differ(part: StoredTask) -> Difference | None:
    """Compare the stages of a job, or the needs of a stage, with how many there were when it was submitted."""
    waited, found = _waited(part), part.task.unmet
    if waited is None or waited == found:
        return None
    what = "the number of its stages" if part.task.stage is None else "the number of stages it comes after"
    return Difference(what, waited, found)


def _waited(part: StoredTask) -> int | None:
    """Return the number of stages or needs that the first mark covers; None if none matches, or without a mark."""
    if not part.events:
        return None
    event, marks = part.events[0], dict(part.marks)
    if marks.get(event.id) is None or part.task.segment is not None:
        return None
    counts = chain([part.task.unmet], range(STAGES_MAX + 1))
    return next((one for one in counts if link(_root(part, one), event) == marks[event.id]), None)


def _root(part: StoredTask, unmet: int) -> bytes:
    return root(*(unmet if name == "unmet" else getattr(part.task, name) for name in FACTS))
