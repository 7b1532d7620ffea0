"""Wake-ups: hints that there may be something to do. They may be lost or come twice; polling finds everything.

A hint is the name of a queue that got work, `DUE` for work that becomes ready at a time, or `ATTENTION` for anything
else (a cancel, a changed setting). Hints are sent after the commit, outside every transaction. `ATTENTION` goes to
every listener. Any other hint goes to two listeners of each group that serves the queue, to those with room first:
one would be enough, unless it has just died. A worker that has no room for it, or finds more than it has room for,
passes it on to another.
"""

import random
import time
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from leasehold.batching import BatchThread
from leasehold.model.names import base_of
from leasehold.store.db import limits

ATTENTION: Final = "ATTENTION"
DUE: Final = "DUE"
WOKEN_MAX: Final = 2
CODES_MAX: Final = 4
ANY: Final = "any"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a listener shows of itself: `group` names workers that can do the same, `codes` the queues they serve."""

    group: str = "0000"
    codes: str = ANY

    def label(self, *, is_full: bool) -> str:
        """Return it as a short text, with whether there is room for more work."""
        return f"{self.group}-{self.codes}-{'f' if is_full else 'o'}"


def profile_of(queues: Sequence[str], routes: Iterable[str]) -> Profile:
    """Return the profile of a worker; with many queues it gets the hints of all, and ignores what is not for it."""
    codes = sorted({code_of(queue) for queue in queues})
    group = zlib.crc32(" ".join((*sorted(queues), "", *sorted(routes))).encode()) & 0xFFFF
    return Profile(f"{group:04x}", ".".join(codes) if len(codes) <= CODES_MAX else ANY)


def code_of(hint: str) -> str:
    """Return two digits for a queue's name; two queues may have the same. Nothing for a hint that is for any worker."""
    return "" if hint == DUE else f"{zlib.crc32(base_of(hint).encode()) & 0xFF:02x}"


def choose(labels: Iterable[tuple[str, str]], hint: str) -> list[list[str]]:
    """Return, by group, the addresses to send a hint to, the best first. `labels` are pairs of address and label."""
    groups: dict[str, list[tuple[bool, float, str]]] = {}
    for address, label in labels:
        group, _, rest = label.partition("-")
        codes, _, room = rest.partition("-")
        if codes == ANY or code_of(hint) in ("", *codes.split(".")):
            groups.setdefault(group, []).append((room != "o", random.random(), address))
    return [[address for _, _, address in sorted(members)] for members in groups.values()]


class Listener(Protocol):
    """Receives the hints of other processes. Reconnects by itself."""

    @property
    def address(self) -> str:
        """What distinguishes this listener; as the sender of a hint it does not receive it."""

    def wait(self, seconds: float) -> set[str]:
        """Return the hints received within `seconds`; after a lost connection, `ATTENTION`."""

    def show(self, *, is_full: bool) -> None:
        """Show whether there is room for work, so that hints go to others first if there is none."""

    def close(self) -> None:
        """Stop listening."""


class Notifier(Protocol):
    """Sends hints. Never raises and never waits long: a lost hint costs a poll."""

    def send(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        """Send hints to at most so many listeners of each group, not to the sender's own."""

    def close_rested(self, seconds: float) -> None:
        """Close a connection over which nothing was sent for so long; the next hint opens another."""

    def close(self) -> None:
        """Send what is left and stop."""


class CoalescingNotifier:
    """A notifier for a slow connection: whatever gathers while it sends is sent next, each hint once.

    The first hint after a quiet time is sent at once, those of a burst every few milliseconds: listeners are awake.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._hints: deque[tuple[str, str, int]] = deque()
        self._thread = BatchThread(
            "leasehold-notifier", lambda: bool(self._hints), self._send, limits.NOTIFIER_REST_SECONDS
        )

    def send(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        self._hints.extend((hint, sender, most) for hint in hints)
        self._thread.start()
        self._thread.wake()

    def close_rested(self, seconds: float) -> None:
        self._notifier.close_rested(seconds)

    def close(self) -> None:
        self._thread.close(limits.NOTIFIER_CLOSE_SECONDS)
        self._notifier.close()

    def _send(self) -> None:
        for hint, sender, most in dict.fromkeys(self._hints.popleft() for _ in range(len(self._hints))):
            self._notifier.send([hint], sender, most)
        time.sleep(limits.WAKE_BURST_SECONDS)
