"""Waiting in tests: for a condition, never for a time.

The time-out is only a guard against hanging; no test may pass or fail because of its length.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
PAUSE_SECONDS: Final = 0.01
PAUSE_SECONDS_MAX: Final = 0.05


def until(condition: Callable[[], T], timeout: float = 60, every: float | None = None) -> T:
    """Return the first true value of `condition`, asking again and again: `every` so many seconds.

    By default it asks less often the longer it waits, because to ask takes time from what is waited for.
    """
    began = time.monotonic()
    pause = threading.Event()
    while not (value := condition()):
        waited = time.monotonic() - began
        if waited > timeout:
            raise TimeoutError(f"still not true after {timeout} s: {condition!r}")
        pause.wait(min(max(PAUSE_SECONDS, waited / 20), PAUSE_SECONDS_MAX) if every is None else every)
    return value
