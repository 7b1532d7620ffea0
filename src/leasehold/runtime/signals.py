"""SIGTERM and SIGINT, for programs that run until they are stopped.

Signal handlers take no locks: Python runs them between any two steps of the main thread, also inside a wait that holds
a lock. An event's `set` takes one; a simple queue may be put into at any moment.
"""

import os
import signal
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final, Self

from leasehold.runtime.limits import SIGNAL_POLL_SECONDS

FORCED_EXIT: Final = 1


class StopSignals:
    """Waits for SIGTERM or SIGINT. A second signal ends the process at once, and its leases expire."""

    def __init__(self) -> None:
        self._is_received = False
        self._received: SimpleQueue[None] = SimpleQueue()
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self.on_signal)
        return self

    def on_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._is_received:
            os._exit(FORCED_EXIT)
        self._is_received = True
        self._received.put(None)

    def wait(self, every: float = SIGNAL_POLL_SECONDS) -> None:
        """Wait for a signal. A wait without end could sleep through one that the kernel gave to another thread."""
        while not self._is_received:
            with suppress(Empty):
                self._received.get(timeout=every)

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
