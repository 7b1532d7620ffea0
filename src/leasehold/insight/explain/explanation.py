"""The answer of `explain`: why a job does not run, or how it ended; and what to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import to_builtins

from leasehold.model.status import Status
from leasehold.shapes import View


class CauseCode(StrEnum):
    """Why a task does not run. What needs a person comes first, what ends by itself last."""

    NO_WORKER = "NO_WORKER"
    KIND_UNSERVED = "KIND_UNSERVED"
    QUEUE_UNSERVED = "QUEUE_UNSERVED"
    QUEUE_PAUSED = "QUEUE_PAUSED"
    NOT_ADVANCED = "NOT_ADVANCED"
    WORKER_GONE = "WORKER_GONE"
    LATE = "LATE"
    LIMIT_FULL = "LIMIT_FULL"
    RATE_REACHED = "RATE_REACHED"
    WORKERS_BUSY = "WORKERS_BUSY"
    SUSPECT = "SUSPECT"
    CANCEL_REQUESTED = "CANCEL_REQUESTED"
    RETRY_DUE = "RETRY_DUE"
    NOT_DUE = "NOT_DUE"
    ABOUT_TO_START = "ABOUT_TO_START"
    RUNNING = "RUNNING"
    WAITS_FOR_TASKS = "WAITS_FOR_TASKS"
    DEAD_LETTER = "DEAD_LETTER"
    CANCELLED = "CANCELLED"
    DONE = "DONE"


class Cause(View, frozen=True):
    """Why one task, or several of a stage (`tasks`), do not run: a sentence, and what to do. `task_id`: the first."""

    code: CauseCode
    why: str
    advice: str
    task_id: int
    stage: str | None = None
    segment: int | None = None
    tasks: int = 1


class Explanation(View, frozen=True):
    """Why a job does not run, or how it ended. The first cause is the one to act on; a pipeline may have several."""

    job_id: int
    status: Status
    causes: tuple[Cause, ...]

    @property
    def code(self) -> CauseCode:
        return self.causes[0].code

    @property
    def why(self) -> str:
        """The first cause, as a sentence."""
        return self.causes[0].why

    @property
    def advice(self) -> str:
        """What to do about the first cause, as a sentence."""
        return self.causes[0].advice

    def __str__(self) -> str:
        return f"{self.why} {self.advice}"

    def plain(self) -> dict[str, Any]:
        return {"job_id": self.job_id, "status": self.status.value, "causes": to_builtins(self.causes)}
