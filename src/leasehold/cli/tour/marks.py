"""The handlers' own journal: one line for each attempt that began, written without the database.

A mark is one `write` to a file opened with O_APPEND, so marks of several processes never mix, and a process that is
killed leaves a whole mark or none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from leasehold import Task
from leasehold.errors import Broken
from leasehold.shapes import Shape


class Mark(Struct, frozen=True):
    """One attempt that began: which task of which job, under which fence, in which process."""

    job_id: int
    task_id: int
    attempt: int
    fence: int
    pid: int


_mark = Shape[Mark](Mark)


def leave_mark(path: str, task: Task) -> None:
    """Note that an attempt has begun."""
    lease = task.lease
    mark = Mark(lease.job_id, lease.task_id, lease.attempt, lease.fence, os.getpid())
    line = msgspec.json.encode(mark) + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        written = os.write(descriptor, line)
    finally:
        os.close(descriptor)
    if written != len(line):
        raise OSError("a mark was written only in part")


class MarkReader:
    """Reads marks as they come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.marks: list[Mark] = []

    def read(self) -> int:
        """Take up the marks left since the last look; return how many there are in all."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                fresh = file.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._offset += len(whole)
            self.marks.extend(_decode(whole.splitlines()))
        return len(self.marks)

    def of(self, pid: int, most: int) -> list[Mark]:
        """Return the latest marks of a process, the newest first."""
        found: list[Mark] = []
        for mark in reversed(self.marks):
            if mark.pid == pid:
                found.append(mark)
            if len(found) == most:
                break
        return found


def _decode(lines: Iterable[bytes]) -> list[Mark]:
    try:
        return [_mark.decode(line) for line in lines]
    except msgspec.MsgspecError as error:
        raise Broken(f"The handlers' journal holds a line that nobody wrote: {error}.") from error
