"""A job's record as lines of canonical JSON: UTF-8, sorted keys, absent fields omitted, nothing of one machine. Pure.

The first line names the job. The tasks follow, each after those it waits for: its facts, its events in the order they
were written, its effects, outcomes, dead letters and deliveries. Tasks and workers are numbered in order of appearance,
so no database id is in it. The last line counts them. Each line's `hash` covers the line and the hash before it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType, to_builtins

from leasehold.errors import RecordDamaged
from leasehold.shapes import Shape

FORMAT: Final = "leasehold-record"
VERSION: Final = 1
GENESIS: Final = "0" * 64
PARTS: Final = ("tasks", "events", "effects", "outcomes", "letters", "deliveries")
NOT_PORTABLE: Final = ("letter", "child", "stack")  # numbers of one database; paths of one machine

_encoder: Final = msgspec.json.Encoder(order="sorted")
_decoder: Final = msgspec.json.Decoder()

Value = Any | UnsetType


class _Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="line"):
    """One line; a field that is absent is left out."""


class Opening(_Line, frozen=True, kw_only=True, tag="record"):
    """The first line: what was asked for."""

    format: str
    version: int
    kind: str
    key: str
    payload: Any


class TaskLine(_Line, frozen=True, kw_only=True, tag="task"):
    """A task's facts. `epoch`: of the fan-out that made a segment; `after`: the stages it waited for."""

    task: int
    stages: int = 0  # of the job itself: how many it has
    stage: str | None = None
    segment: int | None = None
    epoch: int = 1
    item: Value = UNSET
    each: str | None = None
    after: list[str] = []
    queue: str
    priority: int
    attempts_max: int
    lease_ms: int
    on_lost: str
    created_at: int

    @property
    def title(self) -> str:
        """Name the task for people, who count segments from 1: task 3 (audio [1])."""
        part = "" if self.segment is None else f" [{self.segment + 1}]"
        return f"task {self.task}" if self.stage is None else f"task {self.task} ({self.stage}{part})"


class EventLine(_Line, frozen=True, kw_only=True, tag="event"):
    task: int
    at: int
    name: str
    fence: int | None = None
    attempt: int | None = None
    worker: int | None = None
    detail: Value = UNSET


class EffectLine(_Line, frozen=True, kw_only=True, tag="effect"):
    """One act on the outside world; without result and failure it was only intended."""

    task: int
    number: int
    kind: str
    key: str
    fields: Any
    fence: int
    attempt: int
    result: Value = UNSET
    failure: Value = UNSET
    intended_at: int
    recorded_at: int | None = None


class OutcomeLine(_Line, frozen=True, kw_only=True, tag="outcome"):
    """How one epoch of a task ended; `past` if another epoch followed."""

    task: int
    epoch: int
    fence: int
    status: str
    output: Value = UNSET
    failure: Value = UNSET
    finished_at: int
    past: bool = False


class LetterLine(_Line, frozen=True, kw_only=True, tag="letter"):
    task: int
    epoch: int
    fence: int
    error_class: str
    failure: Any
    attempts: int
    first_failure_at: int
    last_failure_at: int
    escalated: bool = False
    state: str


class DeliveryLine(_Line, frozen=True, kw_only=True, tag="delivery"):
    """One message that one recipient is to get once."""

    task: int
    subject: str
    recipient: str
    version: int
    message: Any
    provider: str
    status: str
    attempts: int = 0
    notification_id: str | None = None
    notified_at: int | None = None
    failure: Value = UNSET
    created_at: int


class Closing(_Line, frozen=True, kw_only=True, tag="end"):
    """The last line: how much there is, and the head of the chain over the events alone."""

    tasks: int
    events: int
    effects: int
    outcomes: int
    letters: int
    deliveries: int
    events_sha256: str


Line = Opening | TaskLine | EventLine | EffectLine | OutcomeLine | LetterLine | DeliveryLine | Closing
_line: Final = Shape[Line](Line)


@dataclass(slots=True)
class TaskRecord:
    """One task with everything on record about it."""

    task: TaskLine
    events: list[EventLine] = field(default_factory=list)
    effects: list[EffectLine] = field(default_factory=list)
    outcomes: list[OutcomeLine] = field(default_factory=list)
    letters: list[LetterLine] = field(default_factory=list)
    deliveries: list[DeliveryLine] = field(default_factory=list)

    def lines(self) -> Iterator[Line]:
        yield self.task
        yield from chain(self.events, self.effects, self.outcomes, self.letters, self.deliveries)

    def add(self, line: Line) -> None:
        """Add the next line; `RecordDamaged` if it does not belong here."""
        kinds: list[type] = [EventLine, EffectLine, OutcomeLine, LetterLine, DeliveryLine]
        lists: list[list[Any]] = [self.events, self.effects, self.outcomes, self.letters, self.deliveries]
        if type(line) not in kinds or any(lists[kinds.index(type(line)) + 1 :]):
            raise RecordDamaged("It stands in the wrong place.")
        lists[kinds.index(type(line))].append(line)


class RecordCounts:
    """Counts the lines of a record, and chains its events."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(PARTS, 0)
        self._head = GENESIS

    def add(self, record: TaskRecord) -> None:
        self._counts["tasks"] += 1
        for name in PARTS[1:]:
            self._counts[name] += len(getattr(record, name))
        for event in record.events:
            self._head = _link(self._head, _encoder.encode(to_builtins(event)))

    def closing(self) -> Closing:
        return Closing(**self._counts, events_sha256=self._head)


class RecordCodec:
    """Encodes and decodes a record's lines one after the other, each with a hash over it and all before."""

    def __init__(self) -> None:
        self.head = GENESIS

    def encode(self, line: Line) -> bytes:
        fields: dict[str, Any] = to_builtins(line)
        self.head = _link(self.head, _encoder.encode(fields))
        return _encoder.encode({**fields, "hash": self.head}) + b"\n"

    def decode(self, raw: bytes) -> Line:
        """Return the line in these bytes; `RecordDamaged` if they are wrong."""
        try:
            fields = _decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise RecordDamaged("It is not JSON.") from None
        if not isinstance(fields, dict):
            raise RecordDamaged("It is not a JSON object.")
        recorded = fields.pop("hash", None)
        self.head = _link(self.head, _encoder.encode(fields))
        if recorded != self.head:
            raise RecordDamaged(
                "Its hash does not fit it and the lines before: something was edited, moved or removed."
            )
        if raw != _encoder.encode({**fields, "hash": recorded}) + b"\n":
            raise RecordDamaged("It is not canonical JSON.")
        try:
            return _line.convert(fields)
        except msgspec.ValidationError as error:
            raise RecordDamaged(f"It cannot be understood: {error}.") from None


def _link(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode("ascii") + text).hexdigest()


def value_of(text: str | None) -> Value:
    """Decode a stored text; a text that is not JSON is returned as it is."""
    if text is None:
        return UNSET
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def portable(text: str | None) -> Value:
    """Decode a stored failure or detail, without the fields of one machine or database."""
    found = value_of(text)
    if isinstance(found, dict):
        return {name: value for name, value in found.items() if name not in NOT_PORTABLE}
    return found


def text_of(value: Value) -> str | None:
    """Return a line's value as canonical text, as it was stored; None if absent."""
    return None if value is UNSET else _encoder.encode(value).decode("utf-8")
