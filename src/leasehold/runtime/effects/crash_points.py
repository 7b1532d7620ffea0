"""The points of an effect at which a test may crash an attempt. Without such a test they cost one comparison."""

from collections.abc import Callable
from enum import StrEnum

from leasehold.model.effect import Intent


class Point(StrEnum):
    """How far an effect has come."""

    BEFORE_INTENT = "before_intent"
    AFTER_INTENT = "after_intent"
    AFTER_ACT = "after_act"
    AFTER_RESULT = "after_result"


Watcher = Callable[[Point, Intent], None]
_watchers: list[Watcher] = []


def reach(point: Point, intent: Intent) -> None:
    """Call every watcher: an effect has reached this point."""
    if _watchers:
        for watcher in tuple(_watchers):
            watcher(point, intent)


def has_watchers() -> bool:
    """Whether somebody watches: then attempts wait for each record, so that every crash is at a place with a name."""
    return bool(_watchers)


def watch(watcher: Watcher) -> Callable[[], None]:
    """Watch the effects of this process; the answer ends it."""
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)
