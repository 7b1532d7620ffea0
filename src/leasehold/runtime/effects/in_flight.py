"""The effects of an attempt that are in flight: a second caller of one waits for it, the end waits for transactions."""

import asyncio
import threading
from collections.abc import Callable

from leasehold.batching import Promise, answer_all

Call = Callable[[], object]


class InFlightEffect:
    """One effect in flight, and what to call at its end."""

    __slots__ = ("_lock", "calls", "is_over", "is_transaction")

    def __init__(self, lock: threading.Lock, *, is_transaction: bool) -> None:
        self.is_transaction = is_transaction
        self.is_over = False
        self._lock = lock
        self.calls: list[Call] = []

    def wait(self) -> None:
        over = threading.Event()
        self._at_end(over.set)
        over.wait()

    async def wait_async(self) -> None:
        over: Promise[None] = Promise(loop=asyncio.get_running_loop())
        self._at_end(lambda: answer_all([(over, None)]))
        await over

    def _at_end(self, call: Call) -> None:
        with self._lock:
            if not self.is_over:
                self.calls.append(call)
                return
        call()


class InFlightEffects:
    """The effects in flight, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_key: dict[str, InFlightEffect] = {}
        self._transactions = 0
        self._at_no_transaction: list[Call] = []

    def begin(self, key: str, *, is_transaction: bool = False) -> InFlightEffect | None:
        with self._lock:
            other = self._by_key.get(key)
            if other is None:
                self._by_key[key] = InFlightEffect(self._lock, is_transaction=is_transaction)
                self._transactions += is_transaction
            return other

    def end(self, key: str) -> None:
        with self._lock:
            effect = self._by_key.pop(key)
            effect.is_over = True
            calls = effect.calls
            self._transactions -= effect.is_transaction
            if self._at_no_transaction and not self._transactions:
                calls = [*calls, *self._at_no_transaction]
                self._at_no_transaction = []
        for call in calls:
            call()

    def when_no_transaction(self, call: Call) -> None:
        """Call once no transaction is open: at once, or at the end of the last one."""
        with self._lock:
            if self._transactions:
                self._at_no_transaction.append(call)
                return
        call()
