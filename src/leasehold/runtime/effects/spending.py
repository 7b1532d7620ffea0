"""What one attempt spends of the budgets at the root of its tree. A spend that was paid before is not paid again."""

import threading
from collections import Counter
from collections.abc import Awaitable
from functools import cached_property, partial

from leasehold.errors import BudgetExceeded, BudgetUnknown, OptionInvalid, SpendConflict
from leasehold.model.effect import Entry, identity_of_lease
from leasehold.model.lease import Lease
from leasehold.model.limits import SPENDS_MAX
from leasehold.model.tree.budget import DebitAnswer, Spend, check_spend, make_spend
from leasehold.runtime.commit.requests import CommitChannel
from leasehold.runtime.effects.pending import PendingAnswers


class Spending:
    """Debits budgets."""

    def __init__(self, lease: Lease, channel: CommitChannel, pending: PendingAnswers) -> None:
        self._lease = lease
        self._channel = channel
        self._pending = pending
        self._lock = threading.Lock()
        self._asked: Counter[tuple[str, int]] = Counter()
        self._count = 0

    def spend(self, name: str, amount: int, key: str | None) -> int:
        """Debit a budget and return what is left of it."""
        asked = self._make(name, amount, key)
        # crash here: spent but not answered
        # The debit is on the ledger, and the next attempt gets its answer from there.
        return _left(asked, self._channel.hand_over(asked)())

    def spend_async(self, name: str, amount: int, key: str | None) -> Awaitable[int]:
        """Request a debit at once; the handler may await its answer later."""
        asked = self._make(name, amount, key)
        return self._pending.ask(asked, partial(_left, asked))

    @cached_property
    def _identity(self) -> str:
        return identity_of_lease(self._lease)

    def _make(self, name: str, amount: int, key: str | None) -> Spend:
        check_spend(name, amount, key)
        with self._lock:
            self._count += 1
            if self._count > SPENDS_MAX:
                raise OptionInvalid(f"An attempt spends at most {SPENDS_MAX:,} times; spend larger amounts.")
            self._asked[name, amount] += key is None
            number = self._asked[name, amount]
        return make_spend(self._lease, self._identity, name, amount, number if key is None else key)


def _left(asked: Spend, entry: Entry) -> int:
    match entry.verdict:
        case DebitAnswer.UNKNOWN:
            raise BudgetUnknown(f"It is '{asked.name}'.")
        case DebitAnswer.REFUSED:
            left = int(entry.result or 0)
            raise BudgetExceeded(f"{left:,} of '{asked.name}' are left; {asked.amount:,} were requested.")
        case DebitAnswer.CONFLICT:
            raise SpendConflict(f"It was {int(entry.result or 0):,} of '{asked.name}'; now it is {asked.amount:,}.")
    return int(entry.result or 0)
