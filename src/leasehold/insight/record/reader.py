"""Read a record from a file: every hash is checked, and damage is reported with its line."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from leasehold.errors import RecordDamaged
from leasehold.model.journal.record import (
    FORMAT,
    VERSION,
    Closing,
    Line,
    Opening,
    RecordCodec,
    RecordCounts,
    TaskLine,
    TaskRecord,
)


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
