"""The uptime of this process, as a test sets it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leasehold import clock


@contextmanager
def simulated_uptime(reading: Callable[[], int]) -> Iterator[None]:
    """Have this process's deadlines follow another clock, in a simulation where no time passes by itself."""
    before, clock._simulated = clock._simulated, reading  # noqa: SLF001 — the engine itself has no use for another clock
    try:
        yield
    finally:
        clock._simulated = before  # noqa: SLF001
