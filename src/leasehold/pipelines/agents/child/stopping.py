"""Why a child is stopped, and the request to stop it: made by any thread, at any time, taken by the child's own."""

import os
import threading
from enum import StrEnum
from typing import Final


class StopReason(StrEnum):
    """What ended a child before it ended by itself."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    PROTOCOL = "protocol"
    FAILURE = "failure"  # of the coordinator itself


# Those who may still save their work have a grace; who spends too much, or lies, has none.
WITH_GRACE: Final = frozenset({StopReason.CANCEL, StopReason.TIMEOUT})


class StopRequest:
    """One request to stop one child. The first reason is kept; a later one can only take the grace away."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self.is_urgent = False
        self._lock = threading.Lock()
        self._reader, self._writer = os.pipe()

    def request(self, reason: StopReason) -> None:
        """Have the child stopped. Asking again, or after its end, changes nothing."""
        with self._lock:
            is_new = self.reason is None or (reason not in WITH_GRACE and not self.is_urgent)
            self.reason = self.reason or reason
            self.is_urgent = self.is_urgent or reason not in WITH_GRACE
            if is_new and self._writer >= 0:
                os.write(self._writer, b"x")

    def fileno(self) -> int:
        return self._reader

    def take(self) -> None:
        """Read what woke the waiting thread."""
        os.read(self._reader, 64)

    def close(self) -> None:
        with self._lock:
            for descriptor in (self._reader, self._writer):
                if descriptor >= 0:
                    os.close(descriptor)
            self._reader = self._writer = -1
