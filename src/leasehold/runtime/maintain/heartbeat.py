"""The heartbeat: keeps leases alive, and stops what can no longer be kept alive.

Two threads, so that a database that does not answer cannot keep the second from acting. The renewer extends the
leases past a third of their time, all in one statement, on its own connection. The watch compares each lease with
its deadline on a clock that also runs while the machine sleeps, and has the worker stop acting before the lease can
be taken over.
"""

import threading
from collections.abc import Callable

from leasehold import clock
from leasehold.model.lease import Renewal
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.limits import HEARTBEAT_SECONDS_MAX, HEARTBEAT_SECONDS_MIN, IDLE_LEASE_MS
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store


class Heartbeat:
    """Renews what is held."""

    def __init__(self, store: Store, held: HeldAttempts, events: EventLog) -> None:
        self._store = store
        self._held = held
        self._events = events
        self._shortest_ms = IDLE_LEASE_MS
        self._closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._repeat, args=(self.renew, 12), name="leasehold-heartbeat", daemon=True),
            threading.Thread(target=self._repeat, args=(self.watch, 40), name="leasehold-watch", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def on_claimed(self, shortest_ms: int) -> None:
        """Beat fast enough for a lease that was just claimed."""
        if shortest_ms < self._shortest_ms:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _repeat(self, step: Callable[[], None], share: int) -> None:
        """Do it so many times within the shortest lease."""
        while self._wait(share):
            try:
                step()
            except Exception as error:  # noqa: BLE001 — without renewals every lease would be lost
                self._events.component_failed("heartbeat", error)

    def _wait(self, share: int) -> bool:
        with self._changed:
            self._shortest_ms = min((attempt.lease.lease_ms for attempt in self._held.all()), default=IDLE_LEASE_MS)
            self._changed.wait(min(HEARTBEAT_SECONDS_MAX, max(HEARTBEAT_SECONDS_MIN, self._shortest_ms / 1000 / share)))
            return not self._closed

    def renew(self) -> None:
        """Extend every lease that is past a third of its time; lose those that no longer stand."""
        asked_at = clock.uptime()
        # Also those that have ended and wait for their end to be written.
        needed = (State.CLAIMED, State.RUNNING, State.ENDED)
        due = [attempt for attempt in self._held.all() if attempt.state in needed and attempt.renew_at <= asked_at]
        if not due:
            return
        due.sort(key=lambda attempt: attempt.lease.task_id)
        leases = [attempt.lease for attempt in due]
        renewed = self._store.leases.renew([Renewal(one.task_id, one.fence, one.lease_ms) for one in leases])
        held = {(one.task_id, one.fence): one for one in renewed}
        for attempt in due:
            answer = held.get((attempt.lease.task_id, attempt.lease.fence))
            if answer is not None:
                attempt.cancel_reason = answer.cancel_reason or attempt.cancel_reason
                if answer.extended:
                    attempt.extend(asked_at)
            elif _is_kept(attempt) and attempt.lose():
                self._events.lease_lost(attempt.lease, "not renewed: it expired or went to another")

    def watch(self) -> None:
        """Lose every lease whose deadline has come."""
        now = clock.uptime()
        for attempt in self._held.all():
            if _is_kept(attempt) and attempt.deadline <= now and attempt.lose():
                self._events.lease_lost(attempt.lease, "could not be renewed in time")


def _is_kept(attempt: Attempt) -> bool:
    return attempt.state in (State.CLAIMED, State.RUNNING)
