"""Wake-ups: hints that something may be there to do. They may be lost or come twice; polling is the truth.

A word is the name of a queue that got work, or `ATTENTION` for what is not a queue's (a cancel, a changed setting).
Words are sent after the commit, outside every transaction.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final, Protocol

ATTENTION: Final = "ATTENTION"
BREATH_SECONDS: Final = 0.003


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
    """A mouth for a slow way: whatever has gathered while it was speaking is said next, in one go.

    The first word after a silence is said at once, those of a burst every few milliseconds: ears are awake then.
    """

    def __init__(self, speak: Notifier) -> None:
        self._speak = speak
        self._words: set[str] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def send(self, words: Iterable[str]) -> None:
        """Hand words to the speaking thread."""
        with self._changed:
            self._words.update(words)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="leasehold-mouth", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Say what is left, then stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=2.0)
        self._speak.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._words or self._closed)
                words, self._words = self._words, set()
                if not words:
                    return
            self._speak.send(words)
            time.sleep(BREATH_SECONDS)
