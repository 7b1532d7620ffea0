"""Draining with a stopped clock: what would take days of waiting takes none."""

from leasehold.app.facade import Leasehold
from leasehold.errors import WaitTimeout
from leasehold.runtime.run import next_due_at
from leasehold.testing.clock import Clock

PASSES_MAX = 10_000


def drain(app: Leasehold, clock: Clock, *, timeout: float = 60.0) -> None:
    """Run what is ready, move the clock to the next due time, and so on until nothing is left.

    `WaitTimeout` if one round takes longer than `timeout` seconds, or if the work never ends.
    """
    for _ in range(PASSES_MAX):
        app.drain(wait_for_due=False, timeout=timeout)
        _, due_at = next_due_at(app.store, sorted(app.deliveries.providers))
        if due_at is None:
            return
        clock.set(max(clock.now, due_at))
    raise WaitTimeout(f"The clock was moved {PASSES_MAX:,} times and work was still due.")
