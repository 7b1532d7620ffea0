"""Reading events: each line for itself, against the published schema `urm-events@1` and the count of its stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from leasehold.canonical import encode, parse
from leasehold.contracts import contract
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.child_dispatch import TOOL
from leasehold.pipelines.agents.event_reports.issues import EventIssue, EventIssueCode, EventPlace
from leasehold.pipelines.agents.event_reports.streams import StreamLine
from leasehold.pipelines.agents.events import EventName
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.verify import LETTERS

CONTRACT: Final = "urm-events"


@dataclass(frozen=True, slots=True)
class ReadEvent:
    """An event that obeys its schema. `copy_hash` is the same for a child's event and its mirror."""

    place: EventPlace
    session_id: str
    name: str
    seq: int
    ts: str
    child_id: str
    detail: dict[str, Any]
    copy_hash: str

    @property
    def letter(self) -> str:
        """Return the letter of a worker event; empty for any other."""
        return LETTERS.get(self.name, "")  # type: ignore[call-overload, no-any-return]

    @property
    def is_spawn(self) -> bool:
        return self.name == EventName.TOOL_CALL_START and self.detail.get("tool_name") == TOOL

    @property
    def is_mirror(self) -> bool:
        return bool(self.letter) and not self.place.stream_id.startswith("child:")


class EventReader:
    """Reads lines, counts them by stream, and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.issues: list[EventIssue] = []
        self.last_seq: dict[str, int] = {}
        self._contract = contract(CONTRACT, 1)

    def read(self, lines: Iterable[StreamLine]) -> Iterator[ReadEvent]:
        """Yield the events that obey the schema, and stand where their stream and number place them."""
        for line in lines:
            place = EventPlace.of(line)
            expected = self.last_seq.setdefault(line.stream_id, 0) + 1
            self.last_seq[line.stream_id] = expected
            body = self._body(line, place)
            if body is None:
                continue
            if body["stream_id"] != line.stream_id:
                self._refuse(EventIssueCode.ORDER_INVALID, f"It belongs to {body['stream_id']}.", place)
                continue
            if body["seq"] != expected:
                message = f"Its seq is {body['seq']}; {expected} comes here."
                self._refuse(EventIssueCode.ORDER_INVALID, message, place)
                self.last_seq[line.stream_id] = body["seq"]  # one that is missing or repeated is one issue
            if _is_incomplete_spawn(body):
                self._refuse(EventIssueCode.EVENT_INVALID, "A spawn names its child_id and queue_seq.", place)
                continue
            yield _event(body, place)

    def _body(self, line: StreamLine, place: EventPlace) -> dict[str, Any] | None:
        """Return an event's fields; None, and what is wrong is kept, if it does not obey the schema."""
        if line.is_torn:
            self._refuse(EventIssueCode.STREAM_TORN, "The line has no end; a kill tore it.", place)
            return None
        try:
            body = _canonical(line.text)
        except (UnicodeDecodeError, PayloadInvalid) as error:
            self._refuse(EventIssueCode.STREAM_DAMAGED, f"{error}", place)
            return None
        if problems := self._contract.problems(body):
            self._refuse(EventIssueCode.EVENT_INVALID, f"{problems[0].path}: {problems[0].message}.", place)
            return None
        return body

    def _refuse(self, code: EventIssueCode, message: str, place: EventPlace) -> None:
        self.issues.append(EventIssue(code, message, place))


def _is_incomplete_spawn(body: dict[str, Any]) -> bool:
    detail = body["detail"]
    if detail.get("tool_name") != TOOL or body["event"] != EventName.TOOL_CALL_START:
        return False
    return type(detail.get("child_id")) is not str or type(detail.get("queue_seq")) is not int


def _canonical(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = parse(text.decode("utf-8"))
    if encode(found).encode() != text:
        raise PayloadInvalid("The line is not canonical.")
    return found


def _event(body: dict[str, Any], place: EventPlace) -> ReadEvent:
    copied = {name: value for name, value in body.items() if name not in ("stream_id", "seq")}
    detail = body["detail"]
    session_id, child_id = body["context"]["session_id"], str(detail.get("child_id", ""))
    return ReadEvent(place, session_id, body["event"], body["seq"], body["ts"], child_id, detail, sha256_of(copied))
