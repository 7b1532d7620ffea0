"""Export a job's record, the lines of `model/journal/record.py`, or read one: damage is reported with its line."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from msgspec import Struct

from leasehold.errors import JobUnknown, RecordDamaged
from leasehold.model.journal.event import Event
from leasehold.model.journal.record import (
    FORMAT,
    VERSION,
    Closing,
    DeliveryLine,
    EffectLine,
    EventLine,
    LetterLine,
    Line,
    Opening,
    OutcomeLine,
    RecordCodec,
    RecordCounts,
    TaskLine,
    TaskRecord,
    portable,
    value_of,
)
from leasehold.shapes import from_fields
from leasehold.store import Store
from leasehold.store.records import StoredTask

S = TypeVar("S", bound=Struct)


def export(store: Store, job_id: int, file: IO[bytes]) -> Closing:
    """Write a job's record to an empty file that can be rewound, and return its last line; or raise `JobUnknown`."""

    def write(parts: Iterator[StoredTask]) -> Closing:
        file.seek(0)
        file.truncate()
        codec, counts, builder = RecordCodec(), RecordCounts(), RecordBuilder()
        for number, part in enumerate(parts):
            if number == 0:
                task, payload = part.task, value_of(part.task.payload or "null")
                opening = Opening(format=FORMAT, version=VERSION, kind=task.kind, key=task.key or "", payload=payload)
                file.write(codec.encode(opening))
            record = builder.record(number, part)
            counts.add(record)
            file.writelines(codec.encode(line) for line in record.lines())
        if codec.head == RecordCodec().head:
            raise JobUnknown(f"The id is {job_id}.")
        closing = counts.closing()
        file.write(codec.encode(closing))
        return closing

    return store.records.read(job_id, write)


class RecordBuilder:
    """Turns rows into lines; workers are numbered in the order in which they appear."""

    def __init__(self) -> None:
        self._workers: dict[int, int] = {}

    def record(self, number: int, part: StoredTask) -> TaskRecord:
        task = part.task
        line = from_fields(
            TaskLine,
            task,
            task=number,
            stages=task.unmet if task.stage is None else 0,
            item=value_of(task.item),
            each=task.each_field,
            after=list(part.after),
        )
        effects = sorted(part.effects, key=lambda one: (one.number, one.key))
        deliveries = sorted(part.deliveries, key=lambda one: (one.subject, one.recipient, one.version))
        return TaskRecord(
            line,
            [self._event(number, one) for one in part.events],
            [_line(EffectLine, number, one, "fields", "result") for one in effects],
            [_line(OutcomeLine, number, one, "output", past=bool(one.past)) for one in part.outcomes],
            [_line(LetterLine, number, one, escalated=bool(one.escalated)) for one in part.letters],
            [_line(DeliveryLine, number, one, "message") for one in deliveries],
        )

    def _event(self, number: int, event: Event) -> EventLine:
        worker = None if event.worker is None else self._workers.setdefault(event.worker, len(self._workers) + 1)
        return from_fields(EventLine, event, task=number, worker=worker, detail=portable(event.detail))


def _line(kind: type[S], number: int, row: Any, *texts: str, **others: Any) -> S:
    """Make a line of a row: `texts` are decoded, and so is its failure, without what is of one machine."""
    values = {name: value_of(getattr(row, name)) for name in texts}
    return from_fields(kind, row, task=number, failure=portable(row.failure), **values, **others)


class Recording:
    """One pass over a record's lines. `line` is the number of the latest; after the last task `closing` is set."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self._codec = RecordCodec()
        self._counts = RecordCounts()
        self.line = 0
        self.closing: Closing | None = None
        first = self._next()
        if not isinstance(first, Opening) or (first.format, first.version) != (FORMAT, VERSION):
            raise self._damage(f"It does not open a record of version {VERSION}.")
        self.opening = first

    def records(self) -> Iterator[TaskRecord]:
        """Read task after task to the end; `RecordDamaged` names the first line that is wrong."""
        line = self._next()
        number = 0
        while isinstance(line, TaskLine):
            record = TaskRecord(line)
            if line.task != number:
                raise self._damage(f"Task {number} should follow.")
            number += 1
            line = self._fill(record)
            self._counts.add(record)
            yield record
        if not isinstance(line, Closing):
            raise self._damage("It stands in the wrong place.")
        self._end(line)

    def _fill(self, record: TaskRecord) -> Line:
        while True:
            line = self._next()
            if isinstance(line, TaskLine | Closing):
                return line
            if getattr(line, "task", None) != record.task.task:
                raise self._damage("It belongs to another task.")
            try:
                record.add(line)
            except RecordDamaged as error:
                raise self._damage(error.detail) from None

    def _end(self, closing: Closing) -> None:
        counted = self._counts.closing()
        for name in closing.__struct_fields__:
            if getattr(closing, name) != getattr(counted, name):
                raise self._damage(f"{name} should be {getattr(counted, name)} and is {getattr(closing, name)}.")
        if next(self._lines, None) is not None:
            self.line += 1
            raise self._damage("Nothing may follow the last line.")
        self.closing = closing

    def _next(self) -> Line:
        raw = next(self._lines, None)
        self.line += 1
        if raw is None:
            raise self._damage("The file ends before its last line.")
        if not raw.endswith(b"\n"):
            raise self._damage("It is torn: its end is missing.")
        try:
            return self._codec.decode(raw)
        except RecordDamaged as error:
            raise self._damage(error.detail) from None

    def _damage(self, problem: str) -> RecordDamaged:
        return RecordDamaged(f"Line {self.line}: {problem}")


def read_lines(path: Path) -> Iterator[bytes]:
    """Read a file line by line; `RecordDamaged` if it cannot be read."""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise RecordDamaged(f"{path} cannot be read: {error.strerror}.") from None
