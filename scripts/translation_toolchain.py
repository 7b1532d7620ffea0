#!/usr/bin/env python3
"""The translation toolchain's run lock as a command; the work is done by leasehold.runlock. See docs/runlock.md."""

import sys

from leasehold.runlock import (
    EXIT_ACTIVE_LOCK,
    EXIT_INVALID_LOCK,
    EXIT_LOCK_RACE,
    EXIT_OK,
    LOCK_FILE_NAME,
    LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS,
    LOCK_STALE_RETRY_BASE_SLEEP_SECONDS,
    LOCK_STALE_TTL_SECONDS,
)
from leasehold.runlock.command import main

__all__ = [
    "EXIT_ACTIVE_LOCK",
    "EXIT_INVALID_LOCK",
    "EXIT_LOCK_RACE",
    "EXIT_OK",
    "LOCK_FILE_NAME",
    "LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS",
    "LOCK_STALE_RETRY_BASE_SLEEP_SECONDS",
    "LOCK_STALE_TTL_SECONDS",
    "main",
]

if __name__ == "__main__":
    sys.exit(main())
