"""Wake-ups: hints that there may be something to do. They may be lost or come twice; polling finds everything.

A hint is the name of a queue that got work, or `ATTENTION` for anything else (a cancel, a changed setting). Hints are
sent after the commit, outside every transaction.
"""

import time
from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol

from leasehold.batching import BatchThread

ATTENTION: Final = "ATTENTION"
BURST_SECONDS: Final = 0.003
NOTIFIER_CLOSE_SECONDS: Final = 2.0


class Listener(Protocol):
    """Receives the hints of other processes. Reconnects by itself."""

    def wait(self, seconds: float) -> set[str]:
        """Return the hints received within `seconds`; after a lost connection, `ATTENTION`."""

    def close(self) -> None:
        """Stop listening."""


class Notifier(Protocol):
    """Sends hints. Never raises and never waits long: a lost hint costs a poll."""

    def send(self, hints: Iterable[str]) -> None:
        """Send hints to every listener."""

    def close(self) -> None:
        """Send what is left and stop."""


class CoalescingNotifier:
    """A notifier for a slow connection: whatever gathers while it sends is sent next, in one message.

    The first hint after a quiet time is sent at once, those of a burst every few milliseconds: listeners are awake.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._hints: deque[str] = deque()
        self._thread = BatchThread("leasehold-notifier", lambda: bool(self._hints), self._send)

    def send(self, hints: Iterable[str]) -> None:
        self._hints.extend(hints)
        self._thread.start()
        self._thread.wake()

    def close(self) -> None:
        self._thread.close(NOTIFIER_CLOSE_SECONDS)
        self._notifier.close()

    def _send(self) -> None:
        self._notifier.send({self._hints.popleft() for _ in range(len(self._hints))})
        time.sleep(BURST_SECONDS)
