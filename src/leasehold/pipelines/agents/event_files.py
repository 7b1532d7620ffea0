"""Files of events: the NDJSON projection of streams. Rows are the truth; a file can always be made again from them.

`<folder>/copilot/<session>.ndjson`, `child/<child>.ndjson`, `urm_audit/<session>.ndjson`. A kill may leave a torn last
line, which is cut before the next is appended. Any other difference from the rows is damage, and refused.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from leasehold.pipelines.agents.errors import EventFileDamaged
from leasehold.pipelines.agents.events import events_of
from leasehold.pipelines.agents.records.limits import PAGE
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction
from leasehold.pipelines.agents.sessions import check_id

KINDS: Final = ("copilot", "child", "urm_audit")
SUFFIX: Final = ".ndjson"
CHUNK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Prefix:
    """How much of a file is known to be as the rows are."""

    seq: int = 0
    size: int = 0


class EventFiles:
    """The files of one folder. Another process may write the same ones: each call holds the file's lock."""

    def __init__(self, records: AgentRecords, folder: Path) -> None:
        self._records = records
        self._folder = folder
        self._known: dict[str, Prefix] = {}

    def path(self, stream_id: str) -> Path:
        kind, _, name = stream_id.partition(":")
        if kind not in KINDS:
            raise EventFileDamaged(f"A stream's kind is one of {', '.join(KINDS)}.", stream_id=stream_id)
        return self._folder / kind / f"{check_id(name, 'stream')}{SUFFIX}"

    def project_session(self, parent_session_id: str) -> int:
        """Bring the files of all streams of a session up to date; return how many lines were appended."""
        streams = self._records.read(lambda transaction: list(streams_of(transaction, parent_session_id)))
        return sum(map(self.project, streams))

    def project(self, stream_id: str) -> int:
        """Append what is missing in a stream's file, and wait for the disk; return how many lines that were."""
        with _locked(self.path(stream_id)) as file:
            known = self._known.get(stream_id, Prefix())
            if known.seq == 0 or os.fstat(file).st_size != known.size:
                known = self._checked(file, stream_id)
            found = self._append(file, stream_id, known)
            self._known[stream_id] = found
            return found.seq - known.seq

    def rebuild(self, stream_id: str) -> None:
        """Make a stream's file again from the rows, whatever is in it; the old file is replaced at once."""
        path = self.path(stream_id)
        with _locked(path):
            made = path.with_suffix(".rebuilt")
            made.unlink(missing_ok=True)
            with _locked(made) as file:
                self._known[stream_id] = self._append(file, stream_id, Prefix())
            made.replace(path)
            _sync_folder(path.parent)

    def _checked(self, file: int, stream_id: str) -> Prefix:
        """Cut a torn last line and compare the rest with the rows."""
        _cut_torn_line(file)
        seq = size = 0
        with os.fdopen(os.dup(file), "rb") as lines:
            lines.seek(0)
            for seq, line in enumerate(lines, start=1):
                if seq % PAGE == 1:
                    stored = self._lines(stream_id, seq - 1)
                if (seq - 1) % PAGE >= len(stored) or stored[(seq - 1) % PAGE] != line:
                    raise EventFileDamaged(f"Line {seq} of {lines_name(stream_id)}.", stream_id=stream_id, line=seq)
                size += len(line)
        return Prefix(seq, size)

    def _append(self, file: int, stream_id: str, known: Prefix) -> Prefix:
        while lines := self._lines(stream_id, known.seq):
            # crash here: events were stored but not all of their lines written
            text = b"".join(lines)
            _write_at(file, text, known.size)
            known = Prefix(known.seq + len(lines), known.size + len(text))
        os.fsync(file)
        return known

    def _lines(self, stream_id: str, after: int) -> list[bytes]:
        """Return the next page of a stream's lines."""
        return self._records.read(
            lambda transaction: [
                f"{event.body}\n".encode() for event in islice(events_of(transaction, stream_id, after), PAGE)
            ]
        )


def lines_name(stream_id: str) -> str:
    return stream_id.replace(":", "/", 1) + SUFFIX


def lines_of(records: AgentRecords, parent_session_id: str) -> list[str]:
    """Return the lines of all streams of a session, by stream."""

    def work(transaction: Transaction) -> list[str]:
        streams = streams_of(transaction, parent_session_id)
        return [event.body for stream in streams for event in events_of(transaction, stream)]

    return records.read(work)


def streams_of(transaction: Transaction, parent_session_id: str) -> Iterator[str]:
    return (row[0] for row in transaction.pages("stream/page", 0, "", parent_session_id=parent_session_id))


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file, alone; one that was replaced before the lock was granted is opened again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        is_new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if is_new:
                _sync_folder(path.parent)
            if _is_at(file, path):
                yield file
                return
        finally:
            os.close(file)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _cut_torn_line(file: int) -> None:
    """Cut what follows the last end of a line."""
    size = place = os.fstat(file).st_size
    while place > 0:
        start = max(0, place - CHUNK_BYTES)
        found = os.pread(file, place - start, start).rfind(b"\n")
        if found >= 0:
            place = start + found + 1
            break
        place = start
    if place < size:
        os.ftruncate(file, place)
        os.fsync(file)


def _write_at(file: int, text: bytes, place: int) -> None:
    left = memoryview(text)
    while left:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
