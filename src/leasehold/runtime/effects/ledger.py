"""The way from a running attempt to the ledger of effects, through the committer."""

from collections.abc import Callable

from leasehold.model.effect import Entry, Intent, Record
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.replies import AsyncReply, Reply
from leasehold.runtime.effects.effects import Item
from leasehold.store import Store


class AttemptLedger:
    """The ledger as one attempt of this process reaches it."""

    __slots__ = ("_attempt", "_committer", "_store")

    def __init__(self, store: Store, committer: Committer, attempt: Attempt) -> None:
        self._store = store
        self._committer = committer
        self._attempt = attempt

    def enter(self, item: Item) -> Entry:
        """Commit an entry or a move and wait for the answer."""
        return self.hand_over(item)()

    def hand_over(self, item: Item) -> Callable[[], Entry]:
        """Have an entry committed; what is returned waits for the answer."""
        reply = Reply()
        self._committer.commit(self._attempt, item, reply)
        return reply.wait

    def enter_async(self, item: Item) -> AsyncReply:
        """Commit an entry or a move and await the answer."""
        reply = AsyncReply()
        self._committer.commit(self._attempt, item, reply)
        return reply

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        """Run `act` on a connection of the store; its rows and its record commit together."""
        return self._store.effects.transact(intent, act)
