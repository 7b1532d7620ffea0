"""When a claimer reads its queues from the first row again: rows that commit late, or return, lie behind its hints."""

from leasehold.runtime import limits


class Rescans:
    """About one a second, and one soon after a request; they take at most a share of the time."""

    def __init__(self) -> None:
        self._due_at = 0
        self._soonest_at = 0
        self._requested = False

    def request(self) -> None:
        """Have the next one made soon: something returned to a place before the others."""
        self._requested = True

    def begin(self, now: int) -> bool:
        """Whether one is due now. A request that comes from here on is for the one after it."""
        is_due = now >= (self._soonest_at if self._requested else self._due_at)
        if is_due:
            self._requested = False
        return is_due

    def end(self, began: int, now: int) -> None:
        share = limits.RESCAN_SHARE * (now - began)
        self._soonest_at = began + min(share, limits.RESCAN_US_MAX)
        self._due_at = began + min(max(limits.RESCAN_US, share), limits.RESCAN_US_MAX)

    def next_due_in(self, now: int) -> int | None:
        """Return in how many microseconds the requested one may be made; None if none is requested."""
        return max(0, self._soonest_at - now) if self._requested else None
