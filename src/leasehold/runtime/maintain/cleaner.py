"""The cleaner: gives the disk back what nobody needs any more. Any number may run; each does little at a time."""

from leasehold.runtime.limits import CLEAN_US
from leasehold.store import Store


class Cleaner:
    """Truncates the write-ahead log of a SQLite file that a long reader made large."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cleaned_at = -CLEAN_US

    def clean(self, now: int) -> set[str]:
        """Clean now and then; `now` is the database's time. No queue gets work by it."""
        if not 0 <= now - self._cleaned_at < CLEAN_US:  # or the clock was set back
            self._cleaned_at = now
            self._store.truncate_wal()
        return set()
