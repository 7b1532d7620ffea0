"""A queue as a dictionary: what both databases must do, written down in the plainest way."""

from __future__ import annotations

from dataclasses import dataclass, field

LEASE_SECONDS = 30


@dataclass
class Entry:
    """One job. `place` is the table it stands in, or the status it ended with."""

    key: str
    priority: int
    attempts_max: int
    on_lost: str
    place: str = "ready"
    due: float = 0.0
    fence: int = 0
    attempt: int = 0
    expires: float = 0.0
    asked: bool = False


@dataclass
class Model:
    """The jobs, and the time in seconds."""

    now: float = 0.0
    jobs: dict[str, Entry] = field(default_factory=dict)

    def submit(self, key: str, priority: int, delay: float, attempts_max: int, on_lost: str) -> bool:
        """Add a job unless it is there; tell whether it was added."""
        if key in self.jobs:
            return False
        found = self.jobs[key] = Entry(key, priority, attempts_max, on_lost)
        if delay:
            found.place, found.due = "waiting", self.now + delay
        return True

    def claimable(self) -> list[Entry]:
        """Return what may be claimed, the most urgent first."""
        return sorted((one for one in self.jobs.values() if one.place == "ready"), key=lambda one: -one.priority)

    def claim(self, keys: list[str]) -> None:
        """Note what was claimed."""
        for key in keys:
            found = self.jobs[key]
            found.place, found.fence, found.attempt = "lease", found.fence + 1, found.attempt + 1
            found.expires, found.asked = self.now + LEASE_SECONDS, False

    def stands(self, key: str, fence: int) -> bool:
        """Whether a lease is the one that stands."""
        found = self.jobs[key]
        return found.place == "lease" and found.fence == fence and found.expires > self.now

    def settle(self, key: str, how: str) -> None:
        """End an attempt whose lease stands."""
        found = self.jobs[key]
        if found.asked:
            found.place = "CANCELLED"
        elif how == "RETRY":
            found.place, found.due = "waiting", self.now + 3
        else:
            found.place = how

    def vacate(self, key: str, why: str) -> None:
        """Take back a lease."""
        found = self.jobs[key]
        if found.asked:
            found.place = "CANCELLED"
        elif why == "released":
            found.place, found.attempt = "ready", found.attempt - 1
        elif found.on_lost == "bury" or found.attempt >= found.attempts_max:
            found.place = "ERROR"
        else:
            found.place = "ready"

    def expired(self) -> set[str]:
        """Return whose lease has run out."""
        return {one.key for one in self.jobs.values() if one.place == "lease" and one.expires <= self.now}

    def make_due(self) -> None:
        """Make ready what has become due."""
        for one in self.jobs.values():
            if one.place == "waiting" and one.due <= self.now:
                one.place = "ready"

    def cancel(self, key: str) -> None:
        """Call a job off: at once, or when its attempt ends."""
        found = self.jobs[key]
        if found.place == "lease":
            found.asked = True
        elif found.place in ("waiting", "ready"):
            found.place = "CANCELLED"
