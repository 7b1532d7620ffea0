"""One run at a time in one folder: a lock file with heartbeats that a crash cannot leave behind for ever.

`acquire`, `heartbeat` and `release` are the three steps; `hold` does all of them around a block. See docs/runlock.md
for what it promises and on which conditions.
"""

from leasehold.runlock.constants import (
    EXIT_ACTIVE_LOCK,
    EXIT_INVALID_LOCK,
    EXIT_LOCK_RACE,
    EXIT_OK,
    LOCK_FILE_NAME,
    LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS,
    LOCK_STALE_RETRY_BASE_SLEEP_SECONDS,
    LOCK_STALE_TTL_SECONDS,
)
from leasehold.runlock.errors import LockFailed, LockInvalid, LockLost, ReleaseRefused, RunActive, RunLockError
from leasehold.runlock.hold import HeldLock, hold
from leasehold.runlock.lock import RunLock, acquire, heartbeat, release

__all__ = [
    "EXIT_ACTIVE_LOCK",
    "EXIT_INVALID_LOCK",
    "EXIT_LOCK_RACE",
    "EXIT_OK",
    "LOCK_FILE_NAME",
    "LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS",
    "LOCK_STALE_RETRY_BASE_SLEEP_SECONDS",
    "LOCK_STALE_TTL_SECONDS",
    "HeldLock",
    "LockFailed",
    "LockInvalid",
    "LockLost",
    "ReleaseRefused",
    "RunActive",
    "RunLock",
    "RunLockError",
    "acquire",
    "heartbeat",
    "hold",
    "release",
]
