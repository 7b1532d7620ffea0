"""Linked jobs: submitted by a task, made once however often its handler runs, cancelled with their parent. Pure.

The parent's task and the caller's key identify a link, as they do an effect. The child is an ordinary job of its kind;
its key is the caller's, with the beginning of the link's, so that the same key in another task is another job.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.model.effect import Entry, key_of, sha256
from leasehold.model.lease import Lease
from leasehold.model.limits import KEY_LENGTH_MAX, LINK_NAME_MAX
from leasehold.model.names import check_text

DIGITS = KEY_LENGTH_MAX - LINK_NAME_MAX - 1


class LinkAnswer(StrEnum):
    LINKED = "linked"
    AGAIN = "again"  # an earlier call has made it
    STOPPED = "stopped"  # the task was asked to stop, so nothing more is made
    REFUSED = "refused"  # the result has the code and the text of the error


class Link(Struct, frozen=True):
    """A job that an attempt submits. `name`: the caller's key; `key` identifies it within the parent's job."""

    job_id: int
    key: str
    task_id: int
    fence: int
    name: str
    kind: str
    payload: str
    priority: int = 0
    delay_us: int = 0

    @property
    def child_key(self) -> str:
        return f"{self.name}~{self.key[:DIGITS]}"

    @property
    def digest(self) -> str:
        """Shorten the payload for the event of the link."""
        return sha256(self.payload)[:DIGITS]

    def detail(self, child: int) -> str:
        """Return the detail of its event. Only `child` is of one database."""
        fields = {"child": child, "job": self.child_key, "key": self.key, "kind": self.kind, "payload": self.digest}
        return canonical.encode(fields)


class LinkedJob(Struct, frozen=True):
    """A job that a task has submitted. `id` is 0 in a replay, since a record has no number of one database."""

    id: int
    kind: str
    key: str


def wake_hints_in(entries: Iterable[Entry]) -> set[str]:
    """Return what to wake after linked jobs were made: the queues that got work."""
    made = (entry.result for entry in entries if entry.verdict == LinkAnswer.LINKED and entry.result)
    return {hint for result in made for hint in canonical.decode(result).get("wake", ())}


def make_link(lease: Lease, identity: str, name: str, kind: str, payload: str, **options: Any) -> Link:
    """Make the link of a job that a task submits under the key `name`."""
    check_text(name, LINK_NAME_MAX, "The key of a linked job")
    # No effect has a kind with a colon: the two never have the same key.
    key = key_of(identity, "link:", canonical.encode({"key": name}))
    return Link(lease.job_id, key, lease.task_id, lease.fence, name, kind, payload, **options)
