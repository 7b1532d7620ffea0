"""What attempts ask the committer to commit, one by one and in batches, and its replies.

A reply is for a thread that waits, or for an event loop; those of one loop are given in one call.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol, TypeVar

from leasehold.batching import UncancellableFuture
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.lease import Lease
from leasehold.model.limits import GROUP_BYTES_MAX, GROUP_MAX
from leasehold.model.machine import Move
from leasehold.model.tree.budget import Spend
from leasehold.model.tree.link import Link

T = TypeVar("T")
Item = Intent | Record | Move | Link | Spend
Items = tuple[list[Intent], list[Record], list[Move], list[Link], list[Spend]]  # in the order in which they are written


class Reply:
    """The answer to one entry, awaited by a thread."""

    __slots__ = ("_arrived", "_value")
    loop: asyncio.AbstractEventLoop | None = None

    def __init__(self) -> None:
        self._arrived = threading.Lock()
        self._arrived.acquire()
        self._value: Entry | BaseException | None = None

    def answer(self, value: Entry | BaseException) -> None:
        self._value = value
        self._arrived.release()

    def wait(self) -> Entry:
        with self._arrived:
            return _entry(self._value)


class AsyncReply:
    """The answer to one entry, awaited on an event loop; `answer` is called there.

    Most are here before anybody waits for them, so that a future is made only for one who does.
    """

    __slots__ = ("_future", "_value", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._value: Entry | BaseException | None = None
        self._future: UncancellableFuture[None] | None = None

    def answer(self, value: Entry | BaseException) -> None:
        """Give the answer; nobody may wait for it any more."""
        self._value = value
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    @property
    def is_answered(self) -> bool:
        return self._value is not None

    def result(self) -> Entry:
        return _entry(self._value)

    def __await__(self) -> Generator[Any, None, Entry]:
        """Wait for the answer. No cancel ends that: it is raised when the answer has come, which can still be read."""
        if self._value is None:
            self._future = self._future or UncancellableFuture(loop=self.loop)
            yield from self._future.__await__()
        return self.result()


def _entry(value: Entry | BaseException | None) -> Entry:
    if isinstance(value, BaseException):
        raise value
    assert value is not None
    return value


AnyReply = Reply | AsyncReply


class CommitChannel(Protocol):
    """How an attempt has its entries, moves, linked jobs and spends committed; `LeaseLost` if its lease is lost."""

    def commit(self, item: Item, reply: AnyReply) -> None:
        """Have it committed; the reply is answered then."""

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of the ledger's database; its rows and its record commit together."""

    def hand_over(self, item: Item) -> Callable[[], Entry]:
        """Have it committed; what is returned waits for the answer."""
        reply = Reply()
        self.commit(item, reply)
        return reply.wait

    def enter_async(self, item: Item) -> AsyncReply:
        """Have it committed, and await the answer."""
        reply = AsyncReply()
        self.commit(item, reply)
        return reply


def run_blocking(steps: Coroutine[Any, Any, T]) -> T:
    """Run on this thread what suspends only for an async handler."""
    try:
        steps.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("the steps of a sync handler never suspend")


class LeaseHolder(Protocol):
    """The attempt that a request is for."""

    lease: Lease

    def lose(self) -> bool:
        """Record that the lease no longer stands."""


class CommitRequest:
    """What an attempt has committed, and who waits for it. `identity`: what the store's answer is found by."""

    __slots__ = ("attempt", "identity", "item", "reply")

    def __init__(self, attempt: LeaseHolder, item: Item, reply: AnyReply) -> None:
        self.attempt = attempt
        self.item = item
        self.reply = reply
        self.identity = (item.task_id, item.fence, item.key)

    @property
    def size(self) -> int:
        """How many characters it brings to a group."""
        match self.item:
            case Intent(fields=text) | Move(tail=text) | Link(payload=text) | Spend(key=text):
                return len(text)
            case Record(result=result, failure=failure):
                return len(result or failure or "")


class CommitBatch:
    """Entries that are committed together, by sort. Where a writer waits for its turn, what comes meanwhile joins."""

    def __init__(self, waiting: deque[CommitRequest]) -> None:
        self._waiting = waiting
        self.requests: list[CommitRequest] = []
        self.links: list[Link] = []
        self.items: Items = ([], [], [], self.links, [])
        intents, records, moves, links, spends = self.items
        self._sorts: dict[type, list[Any]] = {
            Intent: intents, Record: records, Move: moves, Link: links, Spend: spends,
        }  # fmt: skip
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
