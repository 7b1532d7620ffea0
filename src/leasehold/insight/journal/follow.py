"""Follow the journal: every committed line once, in the order of their numbers."""

from collections import deque
from typing import Any

from msgspec import json, structs

from leasehold import canonical
from leasehold.model.limits import PAGE_MAX
from leasehold.store import Store
from leasehold.store.journal import Horizon, JournalLine

_encoder = json.Encoder(order="sorted")


def page(store: Store, job_id: int | None, after: int) -> list[JournalLine]:
    """Read the committed lines after the line `after`, one page."""
    return store.journal.follow(job_id, after, store.journal.horizon().newest)


class Follower:
    """Reads on from a line. On PostgreSQL a line may be committed after higher numbers: those wait for it."""

    def __init__(self, store: Store, job_id: int | None, after: int) -> None:
        self._store = store
        self._job_id = job_id
        self._horizons: deque[Horizon] = deque(maxlen=PAGE_MAX)
        self._settled = after
        self.after = after

    def read(self) -> list[JournalLine]:
        """Return the next lines; none if nothing more is settled."""
        if self._settled <= self.after:
            self._advance_horizon()
        if self._settled <= self.after:
            return []
        lines = self._store.journal.follow(self._job_id, self.after, self._settled, PAGE_MAX)
        self.after = lines[-1].id if len(lines) == PAGE_MAX else self._settled
        return lines

    def _advance_horizon(self) -> None:
        latest = self._store.journal.horizon()
        self._horizons.append(latest)
        while self._horizons and self._horizons[0].next <= latest.oldest:
            self._settled = max(self._settled, self._horizons.popleft().newest)


def plain(line: JournalLine) -> dict[str, Any]:
    """Return a line as JSON-able fields; absent ones are left out."""
    fields = {name: value for name, value in structs.asdict(line).items() if value is not None}
    if line.detail is not None:
        fields["detail"] = canonical.decode(line.detail)
    return fields


def encode(line: JournalLine) -> bytes:
    return _encoder.encode(plain(line)) + b"\n"
