"""A clock that stands still until it is moved, for every process on the same database; and draining with it."""

from datetime import datetime
from typing import Final

from leasehold import clock
from leasehold.app.facade import Leasehold
from leasehold.errors import WaitTimeout
from leasehold.runtime.run import next_due_at
from leasehold.store import Store

PASSES_MAX: Final = 10_000


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


def drain(app: Leasehold, clock: Clock, *, timeout: float = 60.0) -> None:
    """Run what is ready, move the clock to the next due time, and so on until nothing is left.

    What would take days of waiting takes none. `WaitTimeout` if one round takes longer than `timeout` seconds, or if
    the work never ends.
    """
    for _ in range(PASSES_MAX):
        app.drain(wait_for_due=False, timeout=timeout)
        _, due_at = next_due_at(app.store, sorted(app.deliveries.providers))
        if due_at is None:
            return
        clock.set(max(clock.now, due_at))
    raise WaitTimeout(f"The clock was moved {PASSES_MAX:,} times and work was still due.")
