"""A file of NDJSON that the journal is written to, and that survives a crash.

It is a projection: the journal's rows are the truth, and the file can be made again. One process writes it, under a
lock. What a crash left of a last line is cut off before anything is appended; damage before that is refused.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct

from leasehold.errors import OptionInvalid, ProjectionBusy, ProjectionDamaged

START: Final = b'{"at":'  # how every line of the journal begins: keys are sorted


class Written(Struct, frozen=True):
    """A line of the file: which of the file's lines it is, what it claims to be, and its bytes."""

    number: int
    id: int
    job_id: int
    raw: bytes


class Projection(AbstractContextManager["Projection"]):
    """An open file. `last` is the number of its last line in the journal, 0 if it has none.

    `job_id`: the one job whose lines it holds, None if it holds several or none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = 0
        self.job_id: int | None = None
        self._end = 0
        self._torn = b""
        self._file = _open(path)
        try:
            _lock(self._file, path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        several = False
        for line in self.lines():
            if line.id <= self.last:
                raise ProjectionDamaged(f"{self.path}:{line.number}: its id {line.id} follows {self.last}.")
            several = several or self.job_id not in (None, line.job_id)
            self.last, self.job_id = line.id, line.job_id
            self._end += len(line.raw)
        if several:
            self.job_id = None

    def lines(self) -> Iterator[Written]:
        """Read its whole lines from the beginning; `ProjectionDamaged` at one that is not the journal's."""
        self._file.seek(0)
        for number, raw in enumerate(self._file, 1):
            if not raw.endswith(b"\n"):
                self._torn = raw
                if number == 1 and not raw.startswith(START[: len(raw)]):  # not ours to cut
                    raise ProjectionDamaged(f"{self.path}:{number}: it is not a line of the journal.")
                return
            yield self._line(number, raw)

    def _line(self, number: int, raw: bytes) -> Written:
        try:
            found = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = None
        fields = found if isinstance(found, dict) else {}
        line_id, job_id = fields.get("id"), fields.get("job_id")
        if not isinstance(line_id, int) or not isinstance(job_id, int):
            raise ProjectionDamaged(f"{self.path}:{number}: it is not a line of the journal.")
        return Written(number, line_id, job_id, raw)

    def repair(self) -> int:
        """Take a torn last line off, which a crash in the middle of a write left; return how many bytes it had."""
        if self._torn:
            self._file.truncate(self._end)
            os.fsync(self._file.fileno())
        self._file.seek(self._end)
        return len(self._torn)

    def append(self, lines: Iterable[bytes]) -> None:
        """Add lines to a file that was repaired; they are on the disk when this returns."""
        self._file.writelines(lines)
        self._file.flush()
        # crash here: a line written in part
        # The next writer finds no line break at its end and cuts it off; the journal still has the line.
        os.fsync(self._file.fileno())

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _open(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b")
    except OSError as error:
        raise OptionInvalid(f"{path} cannot be written: {error.strerror}.") from None


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ProjectionBusy(f"It is {path}.") from None
