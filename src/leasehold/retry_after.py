"""How long a server asks to be left alone: the header `Retry-After`, in seconds or as an HTTP date. Pure."""

import re
from datetime import UTC
from typing import Final

from leasehold.limits import RETRY_AFTER_SECONDS_MAX

_seconds: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)


def seconds_to_wait(
    retry_after: str, *, date: str = "", now: float | None = None, seconds_max: float = RETRY_AFTER_SECONDS_MAX
) -> float:
    """Return the seconds to wait, at most `seconds_max`; 0 if the header names none.

    A date counts from the response's own `Date`, which is by the same clock; without one from `now`, in seconds since
    1970.
    """
    value = retry_after.strip()
    if _seconds.fullmatch(value):
        return min(float(value), seconds_max)
    until, since = _timestamp(value), _timestamp(date)
    since = now if since is None else since
    return 0.0 if until is None or since is None else min(max(until - since, 0.0), seconds_max)


def _timestamp(date: str) -> float | None:
    """Return an HTTP date in seconds since 1970."""
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(date)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (IndexError, OverflowError, TypeError, ValueError):
        return None
