"""Hold a lock while a program works: a separate thread writes the heartbeats, so the work may block."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from leasehold import clock
from leasehold.errors import OptionInvalid
from leasehold.runlock.constants import (
    GUARD_WAIT_SECONDS,
    LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS,
    LOCK_STALE_TTL_SECONDS,
    check_constants,
)
from leasehold.runlock.errors import LockFailed, LockLost, RunLockError
from leasehold.runlock.lock import Audit, Clock, RunLock, acquire, confirm, heartbeat, release, to_stderr
from leasehold.runlock.payload import shown


class HeldLock:
    """A lock that is being held. Call `check` before every act that only the holder may do."""

    def __init__(self, lock: RunLock, begun: int, interval_seconds: float, now: Clock, wait_seconds: float) -> None:
        """`wait_seconds`: how long each heartbeat may wait for the guard."""
        self.lock = lock  # as the last heartbeat left it
        self.last_error: LockFailed | None = None  # why the last heartbeat could not be written; None if it was
        self._interval_seconds = interval_seconds
        self._now = now
        self._wait_seconds = wait_seconds
        self._is_over = threading.Event()
        self._lock_use = threading.Lock()
        self._lost: RunLockError | None = None
        self._extend_trust(begun)
        self._thread = threading.Thread(target=self._write_heartbeats, name="leasehold-runlock", daemon=True)
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """Whether somebody else may hold the lock by now."""
        return self._lost is not None or clock.uptime() >= self._trusted_until or not self._thread.is_alive()

    def check(self) -> None:
        """Raise if somebody else may hold the lock by now: stop then, and touch nothing."""
        if self._lost is not None:
            raise self._lost
        if self.is_lost:
            raise LockLost(f"{shown(self.lock.path)} had no heartbeat for too long. This run stops here.")

    def confirm(self) -> None:
        """Read the lock itself, and raise as `check` does: for acts that must never happen twice."""
        self.check()
        with self._lock_use:
            confirm(self.lock, wait_seconds=self._wait_seconds)

    def close(self) -> None:
        """End the heartbeats and release the lock, if it is still this one."""
        self._is_over.set()
        self._thread.join()
        release(self.lock, wait_seconds=self._wait_seconds)

    def _extend_trust(self, begun: int) -> None:
        """Others take over a stale lock; the holder stops before that moment, counted from `begun`."""
        self._trusted_until = begun + clock.microseconds(LOCK_STALE_TTL_SECONDS - self._interval_seconds)

    def _write_heartbeats(self) -> None:
        while self._lost is None and not self._is_over.wait(self._interval_seconds):
            begun = clock.uptime()
            try:
                with self._lock_use:
                    self.lock = heartbeat(self.lock, now=self._now, wait_seconds=self._wait_seconds)
            except LockFailed as error:
                # A full disk or a stopped neighbour may be over by the next heartbeat; the time to live allows for it.
                self.last_error = error
            except RunLockError as error:
                self._lost = error
            else:
                self.last_error = None
                self._extend_trust(begun)


@contextmanager
def hold(
    run_dir: str | os.PathLike[str],
    run_id: str,
    *,
    interval_seconds: float = LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS,
    now: Clock = clock.wall,
    audit: Audit = to_stderr,
    wait_seconds: float = GUARD_WAIT_SECONDS,
) -> Iterator[HeldLock]:
    """Acquire a run's lock, keep it alive while the block runs, and release it afterwards.

    Leaving the block raises `ReleaseRefused` if the lock was lost meanwhile.
    """
    if not interval_seconds > 0:
        raise OptionInvalid(f"The interval between heartbeats is more than 0 seconds; got {interval_seconds}.")
    check_constants(interval_seconds, LOCK_STALE_TTL_SECONDS)
    begun = clock.uptime()
    lock = acquire(run_dir, run_id, now=now, audit=audit, wait_seconds=wait_seconds)
    held = HeldLock(lock, begun, interval_seconds, now, wait_seconds)
    try:
        yield held
    finally:
        held.close()
