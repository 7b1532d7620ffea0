"""Wake-ups: hints that something may be there to do. They may be lost or come twice; polling is the truth.

A word is the name of a queue that got work, or `ATTENTION` for what is not a queue's (a cancel, a changed setting).
Words are sent after the commit, outside every transaction.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from leasehold.batching import BatchThread

ATTENTION: Final = "ATTENTION"
BURST_SECONDS: Final = 0.003
NOTIFIER_CLOSE_SECONDS: Final = 2.0


class Listener(Protocol):
    """Hears words that other processes send. Heals by itself."""

    def wait(self, seconds: float) -> set[str]:
        """Return the words heard within `seconds`; empty if none. After a gap, `ATTENTION` stands for all."""

    def close(self) -> None:
        """Stop listening."""


class Notifier(Protocol):
    """Sends words. Never raises and never waits long: a lost word costs a poll."""

    def send(self, words: Iterable[str]) -> None:
        """Send words to every ear."""

    def close(self) -> None:
        """Send what is left and stop."""


class CoalescingNotifier:
    """A notifier for a slow connection: whatever gathers while it sends is sent next, in one message.

    The first word after a quiet time is sent at once, those of a burst every few milliseconds: listeners are awake.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._words: deque[str] = deque()
        self._thread = BatchThread("leasehold-notifier", lambda: bool(self._words), self._send)

    def send(self, words: Iterable[str]) -> None:
        """Hand words to the sending thread."""
        self._words.extend(words)
        self._thread.start()
        self._thread.wake()

    def close(self) -> None:
        """Send what is left, then stop."""
        self._thread.close(NOTIFIER_CLOSE_SECONDS)
        self._notifier.close()

    def _send(self) -> None:
        self._notifier.send({self._words.popleft() for _ in range(len(self._words))})
        time.sleep(BURST_SECONDS)
