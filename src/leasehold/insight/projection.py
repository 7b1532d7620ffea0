"""A file of NDJSON that the journal is written to, and that survives a crash.

It is a projection: the journal's rows are the truth, and the file can be made again. One process writes it, under a
lock. What a crash left of a last line is cut off before anything is appended; damage before that is refused.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from leasehold.errors import OptionInvalid, ProjectionBusy, ProjectionDamaged

START: Final = b'{"at":'  # how every line of the journal begins: keys are sorted


class Projection:
    """An open file. `last` is the number of its last line, 0 if it has none; `tail` that line as it stands there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = 0
        self.tail = b""
        self.repaired = 0
        self._file = _open(path)
        try:
            _lock(self._file, path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        end = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                self._cut(number, end, line)
                return
            self._check(number, line)
            end += len(line)

    def _check(self, number: int, line: bytes) -> None:
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = None
        line_id = found.get("id") if isinstance(found, dict) else None
        if not isinstance(line_id, int) or line_id <= self.last:
            why = "it is not a line of the journal" if line_id is None else f"its id {line_id} follows {self.last}"
            raise ProjectionDamaged(f"{self.path}:{number}: {why}.")
        self.last, self.tail = line_id, line

    def _cut(self, number: int, end: int, torn: bytes) -> None:
        """Take a torn line off: what a crash in the middle of a write left. Anything else is not ours to cut."""
        if end == 0 and not torn.startswith(START[: len(torn)]):
            raise ProjectionDamaged(f"{self.path}:{number}: it is not a line of the journal.")
        self._file.truncate(end)
        self._file.seek(end)
        os.fsync(self._file.fileno())
        self.repaired = len(torn)

    def append(self, lines: Iterable[bytes]) -> None:
        """Add lines; they are on the disk when this returns."""
        self._file.writelines(lines)
        self._file.flush()
        # crash here: a line written in part
        # The next writer finds no line break at its end and cuts it off; the journal still has the line.
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        """Hold the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let it go."""
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
