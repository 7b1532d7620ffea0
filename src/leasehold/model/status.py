"""The statuses of a task. They are the contract of the state machine and never change."""

from enum import StrEnum


class Status(StrEnum):
    NEW = "NEW"
    READY = "READY"
    RUNNING = "RUNNING"
    DONE = "DONE"
    ERROR = "ERROR"
    CANCELLED = "CANCELLED"

    @property
    def settled(self) -> bool:
        return self in (Status.DONE, Status.ERROR, Status.CANCELLED)


class OnLost(StrEnum):
    """What follows when a worker dies with the task."""

    REQUEUE = "requeue"
    BURY = "bury"
