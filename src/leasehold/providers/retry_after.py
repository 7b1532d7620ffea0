"""How long a receiver asks to be left alone: the header `Retry-After`, in seconds or as a date."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Final

from leasehold import clock

WAIT_SECONDS_MAX: Final = 24 * 3600.0
_DIGITS_MAX: Final = 9


def seconds_to_wait(headers: Message) -> float:
    """Return the seconds to wait, 0 if none are named; a date counts from the answer's own `Date`, if it has one."""
    value = str(headers.get("Retry-After", "")).strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:_DIGITS_MAX]), WAIT_SECONDS_MAX) if len(value) <= _DIGITS_MAX else WAIT_SECONDS_MAX
    until = _moment(value)
    if until is None:
        return 0.0
    now = _moment(str(headers.get("Date", ""))) or datetime.fromtimestamp(clock.wall() / clock.SECOND, UTC)
    return min(max((until - now).total_seconds(), 0.0), WAIT_SECONDS_MAX)


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
