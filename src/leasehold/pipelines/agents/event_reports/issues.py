"""What is wrong with streams of events, and where: file and line, or stream and row."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leasehold.pipelines.agents.errors import EventFileDamaged, PhaseEventMismatch, ReplayOrderInvalid
from leasehold.pipelines.agents.event_reports.streams import StreamLine
from leasehold.pipelines.agents.events import present


class EventIssueCode(StrEnum):
    """Why a stream was refused. Programs may match these; there are no others."""

    STREAM_TORN = "URM_EVENT_STREAM_TORN"
    STREAM_DAMAGED = EventFileDamaged.code
    STREAM_INCOMPLETE = "URM_EVENT_STREAM_INCOMPLETE"
    EVENT_INVALID = "URM_EVENT_INVALID"
    ORDER_INVALID = ReplayOrderInvalid.code
    PHASE_INVALID = PhaseEventMismatch.code


@dataclass(frozen=True, slots=True)
class EventPlace:
    """A line of a stream."""

    stream_id: str
    line: int
    file: str | None

    @classmethod
    def of(cls, line: StreamLine) -> "EventPlace":
        return cls(line.stream_id, line.number, line.file)

    def __str__(self) -> str:
        return f"{self.file or self.stream_id}:{self.line}"


@dataclass(frozen=True, slots=True)
class EventIssue:
    """One thing that is wrong."""

    code: EventIssueCode
    message: str
    place: EventPlace

    def plain(self) -> dict[str, Any]:
        place = present(stream_id=self.place.stream_id, line=self.place.line, file=self.place.file)
        return {"code": self.code.value, "message": self.message, **place}

    def __str__(self) -> str:
        return f"{self.place} {self.code}: {self.message}"
