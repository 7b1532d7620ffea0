"""This process's clocks: microseconds since 1970 (UTC), and a monotonic clock for deadlines.

Leases and due times follow the database's `leasehold_now()`, never this module. SQLite's `leasehold_now()` is made
from these readings.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, overload

SECOND: Final = 1_000_000
MILLISECOND: Final = 1_000


def wall() -> int:
    """Return the host's wall clock in microseconds since 1970."""
    return time.time_ns() // 1_000


def uptime() -> int:
    """Return microseconds that no change of the wall clock moves, shared by all processes of this boot."""
    return time.clock_gettime_ns(_SOURCE) // 1_000 if _simulated is None else _simulated()


_SOURCE: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_simulated: Callable[[], int] | None = None  # simulations in tests set it


def boot_id() -> str:
    """Name this boot of the machine, or '' where the system has no name for it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def microseconds(seconds: float) -> int:
    return round(seconds * SECOND)


@overload
def moment(microseconds_since_epoch: int) -> datetime: ...


@overload
def moment(microseconds_since_epoch: int | None) -> datetime | None: ...


def moment(microseconds_since_epoch: int | None) -> datetime | None:
    """Convert a stored time to an aware datetime in UTC."""
    if microseconds_since_epoch is None:
        return None
    return datetime.fromtimestamp(microseconds_since_epoch / SECOND, tz=UTC)
