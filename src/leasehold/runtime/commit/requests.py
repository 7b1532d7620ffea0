"""What attempts ask the committer to commit for them, one by one and in groups."""

from collections import deque
from typing import Any

from leasehold.model.effect import Intent, Record
from leasehold.model.limits import GROUP_BYTES_MAX, GROUP_MAX
from leasehold.model.machine import Move
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.replies import AnyReply, Item


class CommitRequest:
    """An entry of an effect or a move, and who waits for it. `identity`: what the store's answer is found by."""

    __slots__ = ("attempt", "identity", "item", "reply")

    def __init__(self, attempt: Attempt, item: Item, reply: AnyReply) -> None:
        self.attempt = attempt
        self.item = item
        self.reply = reply
        self.identity = (item.task_id, item.fence, item.key)

    @property
    def size(self) -> int:
        """How many characters it brings to a group."""
        item = self.item
        if isinstance(item, Intent):
            return len(item.fields)
        if isinstance(item, Move):
            return len(item.tail)
        return len(item.result or item.failure or "")


class CommitBatch:
    """Entries that are committed together, by sort. Where a writer waits for its turn, what comes meanwhile joins."""

    def __init__(self, waiting: deque[CommitRequest]) -> None:
        self._waiting = waiting
        self.requests: list[CommitRequest] = []
        self.intents: list[Intent] = []
        self.records: list[Record] = []
        self.moves: list[Move] = []
        self._sorts: dict[type, list[Any]] = {Intent: self.intents, Record: self.records, Move: self.moves}
        self._seen: set[tuple[int, int, str]] = set()
        self._size = 0
        self.gather()

    def gather(self) -> None:
        """Take in what waits, as far as there is room."""
        waiting, seen = self._waiting, self._seen
        while waiting and len(seen) < GROUP_MAX and self._size < GROUP_BYTES_MAX:
            request = waiting[0]
            if request.identity in seen:  # asked again before its record was written: after it
                break
            seen.add(request.identity)
            self.requests.append(waiting.popleft())
            self._sorts[type(request.item)].append(request.item)
            self._size += request.size
