"""The heartbeat: keeps leases alive, and stops what can no longer be kept alive.

Two threads, so that a database that does not answer cannot keep the second from acting. They live while leases are
held, and a while longer. The renewer extends the
leases past a third of their time, all in one statement, on its own connection. The watch compares each lease with
its deadline on a clock that also runs while the machine sleeps, and has the worker stop acting before the lease can
be taken over. It also interrupts attempts whose time is over, and gives up those that do not stop.
"""

import threading
from collections.abc import Callable, Sequence

from leasehold import clock
from leasehold.model.lease import Renewal
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt, Interruption, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store


class Heartbeat:
    """Renews what is held."""

    def __init__(
        self,
        store: Store,
        held: HeldAttempts,
        events: EventLog,
        on_overdue: Callable[[Attempt], None] = lambda _: None,
    ) -> None:
        """`on_overdue` gets attempts that were interrupted and have not stopped in time."""
        self._store = store
        self._held = held
        self._events = events
        self._on_overdue = on_overdue
        self._shortest_ms = limits.IDLE_LEASE_MS
        self._closed = False
        self._changed = threading.Condition()
        self._loops: dict[str, tuple[Callable[[], None], int]] = {
            "leasehold-heartbeat": (self.renew, 12),
            "leasehold-watch": (self.watch, 40),
        }
        self._running: set[str] = set()
        self._held_at = 0

    def on_claimed(self, attempts: Sequence[Attempt]) -> None:
        """Beat from now on, and fast enough for leases and time-outs of attempts that were just claimed."""
        shortest_ms = min(attempt.lease.lease_ms for attempt in attempts)
        with self._changed:
            self._held_at = clock.uptime()
            for name in self._loops.keys() - self._running:
                threading.Thread(target=self._repeat, args=(name,), name=name, daemon=True).start()
                self._running.add(name)
            if shortest_ms < self._shortest_ms or any(attempt.handler.timeout is not None for attempt in attempts):
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _repeat(self, name: str) -> None:
        """Do it so many times within the shortest lease."""
        step, share = self._loops[name]
        while self._wait(name, share):
            try:
                step()
            except Exception as error:  # noqa: BLE001 — without renewals every lease would be lost
                self._events.component_failed("heartbeat", error)

    def _wait(self, name: str, share: int) -> bool:
        with self._changed:
            held, now = self._held.all(), clock.uptime()
            self._shortest_ms = min((attempt.lease.lease_ms for attempt in held), default=limits.IDLE_LEASE_MS)
            left = min(
                (left for attempt in held if (left := _time_left(attempt, now)) is not None), default=clock.SECOND
            )
            seconds = min(self._shortest_ms / 1000 / share, left / clock.SECOND)
            self._changed.wait(min(limits.HEARTBEAT_SECONDS_MAX, max(limits.HEARTBEAT_SECONDS_MIN, seconds)))
            if self._closed or self._has_rested():
                self._running.discard(name)
            return name in self._running

    def _has_rested(self) -> bool:
        now = clock.uptime()
        if self._held.all():
            self._held_at = now
        return now - self._held_at >= clock.microseconds(limits.THREAD_REST_SECONDS)

    def renew(self) -> None:
        """Extend every lease that is past a third of its time; lose those that no longer stand."""
        asked_at = clock.uptime()
        # Also those that have ended and wait for their end to be written.
        needed = (State.CLAIMED, State.RUNNING, State.ENDED)
        due = [attempt for attempt in self._held.all() if attempt.state in needed and attempt.renew_at <= asked_at]
        if not due:
            self._events.component_answered("heartbeat")
            return
        due.sort(key=lambda attempt: attempt.lease.task_id)
        leases = [attempt.lease for attempt in due]
        renewed = self._store.leases.renew([Renewal(one.task_id, one.fence, one.lease_ms) for one in leases])
        self._events.component_answered("heartbeat")
        held = {(one.task_id, one.fence): one for one in renewed}
        for attempt in due:
            answer = held.get((attempt.lease.task_id, attempt.lease.fence))
            if answer is not None:
                if answer.cancel_reason is not None:
                    attempt.interrupt(Interruption.CANCELLED)
                if answer.extended:
                    attempt.extend(asked_at)
            elif _is_kept(attempt) and attempt.lose():
                self._events.lease_lost(attempt.lease, "not renewed: it expired or went to another")

    def watch(self) -> None:
        """Lose every lease whose deadline has come; stop every attempt whose time is over."""
        now = clock.uptime()
        for attempt in self._held.all():
            if _is_kept(attempt) and attempt.deadline <= now and attempt.lose():
                self._events.lease_lost(attempt.lease, "could not be renewed in time")
            elif _is_overdue(attempt, now) and not attempt.interrupt(Interruption.TIMED_OUT):
                self._on_overdue(attempt)


def _time_left(attempt: Attempt, now: int) -> int | None:
    """Return in how many microseconds, at the earliest, the attempt's time is over; None: never."""
    timeout = None if attempt.handler.timeout is None else clock.microseconds(attempt.handler.timeout)
    if attempt.state is State.CLAIMED:
        return timeout
    if attempt.limit_at is None or attempt.state is not State.RUNNING:
        return None
    left = attempt.limit_at - now
    return left if timeout is None else min(left, timeout)  # an isolated handler may be called at any moment


def _is_overdue(attempt: Attempt, now: int) -> bool:
    return attempt.state is State.RUNNING and attempt.limit_at is not None and attempt.limit_at <= now


def _is_kept(attempt: Attempt) -> bool:
    return attempt.state in (State.CLAIMED, State.RUNNING)
