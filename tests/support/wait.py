"""Waiting in tests: for a condition, never for a time.

The time-out is only a guard against hanging; no test may pass or fail because of its length.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], timeout: float = 60, every: float = 0.01) -> T:
    """Return the first true value of `condition`, asking again and again."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not true after {timeout} s: {condition!r}")
        pause.wait(every)
    return value
