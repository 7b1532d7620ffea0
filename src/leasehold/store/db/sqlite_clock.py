"""The clock of a SQLite file: it goes on when the host's wall clock jumps back, so no lease is ever lengthened.

The file holds an anchor: a wall time and the machine's uptime at that moment. Now is the anchored wall time plus the
uptime that has passed, which no change of the wall clock moves and which all processes of one boot share. A wall clock
that runs ahead is followed (the anchor moves, in the same transaction, for everybody); one that falls behind is not.
After a reboot the clock starts from the wall, or from the last journal line if that is later. A test may set it.
"""

from typing import Final

from msgspec import Struct, json

from leasehold import clock
from leasehold.shapes import Shape

AHEAD_US: Final = clock.SECOND


class Anchor(Struct, frozen=True, omit_defaults=True):
    """What a file's clock is tied to; `manual` is a time set by a test."""

    boot: str = ""
    wall: int = 0
    uptime: int = 0
    manual: int | None = None


class Reading(Struct, frozen=True):
    boot: str
    wall: int
    uptime: int


decode: Final = Shape[Anchor](Anchor).decode


def encode(anchor: Anchor) -> str:
    return json.encode(anchor).decode("ascii")


def is_stale(anchor: Anchor | None, host: Reading) -> bool:
    """Whether a new anchor is needed: there is none, or of another boot, or the wall clock ran ahead."""
    if anchor is None:
        return True
    if anchor.manual is not None:
        return False
    return anchor.boot != host.boot or not host.boot or host.wall - _anchored(anchor, host) > AHEAD_US


def make_anchor(anchor: Anchor | None, host: Reading, last: int) -> Anchor:
    """Return a new anchor that is no earlier than anything recorded so far."""
    floor = last
    if anchor is not None and anchor.boot == host.boot and host.boot:
        floor = max(floor, _anchored(anchor, host))
    return Anchor(host.boot, max(host.wall, floor), host.uptime)


def now(anchor: Anchor, host: Reading) -> int:
    return anchor.manual if anchor.manual is not None else _anchored(anchor, host)


def _anchored(anchor: Anchor, host: Reading) -> int:
    return anchor.wall + host.uptime - anchor.uptime
