"""Answers that an async handler may await later: what was asked for is committed anyway, before the attempt ends."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from leasehold.model.effect import Entry
from leasehold.runtime.commit.requests import AsyncReply, CommitChannel, Item

T = TypeVar("T")


class PendingAnswer(Generic[T]):
    """One answer under way. It needs no asyncio task of its own."""

    __slots__ = ("_read", "_reply", "is_read")

    def __init__(self, reply: AsyncReply, read: Callable[[Entry], T]) -> None:
        self._reply = reply
        self._read = read
        self.is_read = False

    def __await__(self) -> Generator[Any, None, T]:
        """Wait until it is committed, and read the answer; a refusal is raised."""
        entry = yield from self._reply.__await__()
        self.is_read = True
        return self._read(entry)


class PendingAnswers:
    """What an attempt has asked for and not awaited, in order."""

    def __init__(self, channel: CommitChannel) -> None:
        self._channel = channel
        self._pending: deque[PendingAnswer[Any]] = deque()

    def ask(self, item: Item, read: Callable[[Entry], T]) -> PendingAnswer[T]:
        """Have something committed; the answer may be awaited later."""
        pending = PendingAnswer(self._channel.enter_async(item), read)
        while self._pending and self._pending[0].is_read:
            self._pending.popleft()
        self._pending.append(pending)
        return pending

    async def finish(self) -> None:
        """Wait for the answers that the handler did not await; what was refused is raised."""
        for pending in self._pending:
            if not pending.is_read:
                await pending
