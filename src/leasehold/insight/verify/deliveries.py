"""Check a task's messages against its end events: each row of the outbox has a digest in the journal.

A message that two tasks delivered belongs to the first of them, and is pruned with that job.
"""

from collections.abc import Iterator

from leasehold.model.delivery import mark_of, marks_in
from leasehold.model.journal.event import Name
from leasehold.model.journal.fold import Difference
from leasehold.model.journal.record import TaskRecord, text_of
from leasehold.store.records import StoredTask


def messages_differ(record: TaskRecord) -> Difference | None:
    """Compare a task's deliveries with the digests in its end events; return the first difference."""
    recorded = {(mark, at) for _, at, mark in _recorded(record)}
    posted = {mark for mark, _ in recorded}
    for one in record.deliveries:
        what = f"its delivery of '{one.subject}' to '{one.recipient}', version {one.version},"
        mark = mark_of(one.subject, one.recipient, one.version, text_of(one.message) or "", one.provider)
        if mark not in posted:
            return Difference(what, "as it was posted", "another")
        if (mark, one.created_at) not in recorded:
            return Difference(f"created_at of {what[:-1]}", "when its task was done", one.created_at)
    return None


class MessageCheck:
    """Checks the messages of a job. `pruned`: the first that is gone and may have been pruned with another job."""

    def __init__(self) -> None:
        self.pruned = ""

    def differ(self, part: StoredTask, record: TaskRecord) -> Difference | None:
        """Compare the outbox byte for byte with a task's end events; return the first message that is missing."""
        found = messages_differ(record)
        if found is not None:
            return found
        for number, at, mark in _recorded(record):
            if mark in part.outbox.present:
                continue
            if at > part.outbox.pruned_at:
                return Difference("a message that it posted", "there", "missing or changed", number)
            pruned = "a message that it posted; it may have been pruned with an earlier job that posted it too"
            self.pruned = self.pruned or f"{record.task.title}, event {number}: {pruned}"
        return None


def _recorded(record: TaskRecord) -> Iterator[tuple[int, int, str]]:
    for number, event in enumerate(record.events, 1):
        if event.name == Name.DONE and event.fence is not None:
            yield from ((number, event.at, mark) for mark in marks_in(event.detail))
