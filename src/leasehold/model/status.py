"""The words for where a task stands. They are the contract of the state machine and never change."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Where a task stands, as people read it."""

    NEW = "NEW"
    READY = "READY"
    RUNNING = "RUNNING"
    DONE = "DONE"
    ERROR = "ERROR"
    CANCELLED = "CANCELLED"

    @property
    def settled(self) -> bool:
        """Whether nothing will change any more."""
        return self in (Status.DONE, Status.ERROR, Status.CANCELLED)


class OnLost(StrEnum):
    """What follows when a worker dies with the task."""

    REQUEUE = "requeue"
    BURY = "bury"
