"""Answers to what attempts enter into the ledger: for a thread that waits, or for an event loop, many in one call."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol, TypeVar

from leasehold.batching import UncancellableFuture
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.machine import Move

T = TypeVar("T")
Item = Intent | Record | Move


class Reply:
    """The answer to one entry, awaited by a thread."""

    __slots__ = ("_arrived", "_trouble", "_value")
    loop: asyncio.AbstractEventLoop | None = None

    def __init__(self) -> None:
        self._arrived = threading.Lock()
        self._arrived.acquire()
        self._value: Entry | None = None
        self._trouble: BaseException | None = None

    def answer(self, value: Entry | BaseException) -> None:
        if isinstance(value, BaseException):
            self._trouble = value
        else:
            self._value = value
        self._arrived.release()

    def wait(self) -> Entry:
        with self._arrived:
            if self._trouble is not None:
                raise self._trouble
            assert self._value is not None
            return self._value


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
        if isinstance(self._value, BaseException):
            raise self._value
        assert self._value is not None
        return self._value

    def __await__(self) -> Generator[Any, None, Entry]:
        """Wait for the answer. No cancel ends that: it is raised when the answer has come, which can still be read."""
        if self._value is None:
            self._future = self._future or UncancellableFuture(loop=self.loop)
            yield from self._future.__await__()
        return self.result()


AnyReply = Reply | AsyncReply


class CommitChannel(Protocol):
    """How an attempt has its entries and moves committed; `LeaseLost` if its lease no longer stands."""

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
