"""Times and names in words, for sentences that people read."""

from typing import Final

from leasehold import clock

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


def duration(seconds: float) -> str:
    """Return a duration in words: 0.25 s, 14 s, 3 min 5 s, 2 h 10 min, 4 d 3 h."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 10:  # noqa: PLR2004 — below ten seconds the fraction matters
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    whole = round(seconds)
    for size, unit, part, smaller in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {smaller}"
    return f"{whole} s"


def until(moment: int, now: int) -> str:
    """Return a time to come, with how far away it is."""
    return f"{clock.moment(moment):%Y-%m-%d %H:%M:%S} UTC (in {duration(max(0, moment - now) / clock.SECOND)})"


def attempts(attempt: int, most: int, losses: int, *, failed: bool = True) -> str:
    """Name an attempt: `2 of 5`, or with lost workers `4 (2 of 5 failed, 2 lost)`: those do not count.

    `failed`: whether this attempt is one of those that failed, or were lost.
    """
    if not losses:
        return f"{attempt} of {most}"
    return f"{attempt} ({attempt - losses - (not failed)} of {most} failed, {losses} lost)"


def several(names: list[str], most: int = 3) -> str:
    """Join names; what is more than `most` is counted."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
