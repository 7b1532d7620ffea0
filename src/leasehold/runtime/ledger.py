"""The way from a running attempt to the ledger of effects: through the committer, or straight to the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from leasehold.errors import LeaseLost
from leasehold.model.effect import Entry, Intent, Record
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.committer import Committer
from leasehold.runtime.replies import AsyncReply, Reply
from leasehold.store import Store


class AttemptLedger:
    """The ledger as one attempt of this process reaches it."""

    __slots__ = ("_attempt", "_committer", "_store")

    def __init__(self, store: Store, committer: Committer, attempt: Attempt) -> None:
        self._store = store
        self._committer = committer
        self._attempt = attempt

    def enter(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record and wait for the answer."""
        reply = Reply()
        self._committer.ask(self._attempt, item, reply)
        return reply.wait()

    async def enter_async(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record and await the answer."""
        reply = AsyncReply()
        self._committer.ask(self._attempt, item, reply)
        return await reply.future

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of the store; its rows and its record commit together."""
        return self._store.effects.transact(intent, act)


class StoreLedger:
    """The ledger of a process without a committer: each entry is a commit of its own."""

    def __init__(
        self, enter: Callable[[list[Intent], list[Record]], list[Entry]], transact: Callable[..., Entry]
    ) -> None:
        self._enter = enter
        self._transact = transact

    def enter(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record."""
        found = self._enter([item], []) if isinstance(item, Intent) else self._enter([], [item])
        if not found:
            raise LeaseLost
        return found[0]

    async def enter_async(self, item: Intent | Record) -> Entry:
        """Commit an intent or a record, without holding up the loop."""
        return await asyncio.to_thread(self.enter, item)

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of the database."""
        return self._transact(intent, act)
