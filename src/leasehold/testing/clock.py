"""Clocks for tests. `Clock` stands still until it is moved, for every process on the same database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from leasehold import clock
from leasehold.app.facade import Leasehold
from leasehold.store import Store


class Clock:
    """The database's `leasehold_now()`, stopped. Leases and due times follow it; nothing else does."""

    def __init__(self, of: Leasehold | Store) -> None:
        self._store = of.store if isinstance(of, Leasehold) else of
        self._store.prepare()
        self._now = clock.wall()
        self.set(self._now)

    @property
    def now(self) -> int:
        """The time, in microseconds since 1970."""
        return self._now

    def set(self, now: int | datetime) -> None:
        """Stop the clock at this time."""
        self._now = round(now.timestamp() * clock.SECOND) if isinstance(now, datetime) else now
        self._store.database.transact(lambda session: session.set_clock(self._now))

    def advance(self, seconds: float) -> None:
        """Move the clock on."""
        self.set(self._now + clock.microseconds(seconds))


@contextmanager
def simulated_uptime(reading: Callable[[], int]) -> Iterator[None]:
    """Have this process's deadlines follow another clock, in a simulation where no time passes by itself."""
    before, clock._uptime = clock._uptime, reading  # noqa: SLF001 — the engine itself has no use for another clock
    try:
        yield
    finally:
        clock._uptime = before  # noqa: SLF001
