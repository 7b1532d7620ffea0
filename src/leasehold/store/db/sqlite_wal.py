"""The write-ahead log (WAL) of a SQLite file: its size, who reads it, and how its file is truncated.

A read transaction that stays open pins the log: checkpoints copy nothing that it must not see, and writers append.
When it has ended, a checkpoint copies the rest and writers start again at the beginning of the file, but the file keeps
its size. `PRAGMA journal_size_limit` truncates it at the next commit; if nobody commits, `truncate` does.

Who reads is in the shared memory of the log (https://sqlite.org/walformat.html) and in Linux's list of locks. The
descriptor is SQLite's own: to close another one would drop this process's locks on the file.
"""

import os
import struct
from pathlib import Path
from typing import Final

import apsw
from msgspec import Struct

from leasehold.store.db.limits import WAL_BUSY_MS

LOCKS: Final = Path("/proc/locks")
DESCRIPTORS: Final = Path("/proc/self/fd")
FRAMES_AT: Final = 16  # in the shared memory: the number of valid frames
COPIED_AT: Final = 96  # the number of frames that checkpoints have copied, then the marks of the readers
MARKS: Final = 5
READ_LOCKS_AT: Final = 123  # the byte that the readers of the first mark lock


class WalReader(Struct, frozen=True):
    """A process with an open read transaction that sees the log as it was after `frames`; in slot 0 not at all."""

    pid: int
    slot: int
    frames: int


class WalState(Struct, frozen=True):
    """The log's size on disk, its frames, how many of them the database file has already, and who reads it now."""

    size: int
    frames: int = 0
    copied: int = 0
    readers: frozenset[WalReader] = frozenset()


def size(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        return 0


def inspect(path: Path) -> WalState:
    """Read the state of the log; only its size if this process has not opened the file, or where there is no /proc."""
    descriptor = _find_shared_memory(path)
    if descriptor is None:
        return WalState(size(path))
    try:
        (frames,) = struct.unpack("=I", os.pread(descriptor, 4, FRAMES_AT))
        copied, *marks = struct.unpack(f"={1 + MARKS}I", os.pread(descriptor, 4 * (1 + MARKS), COPIED_AT))
        return WalState(size(path), frames, copied, _readers(os.fstat(descriptor), marks))
    except (OSError, struct.error):
        return WalState(size(path))


def truncate(connection: apsw.Connection) -> bool:
    """Copy the log into the database and truncate its file; return False if a reader, or another process, is at it.

    The first checkpoint copies nearly everything and blocks nobody. The second holds the write lock for what came
    meanwhile, and for readers no longer than `WAL_BUSY_MS`.
    """
    try:
        frames, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if copied < frames:
            return False
        connection.set_busy_timeout(WAL_BUSY_MS)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (apsw.BusyError, apsw.LockedError):
        return False
    return True


def _find_shared_memory(path: Path) -> int | None:
    """Return SQLite's own descriptor of the log's shared memory."""
    try:
        wanted = path.with_name(f"{path.name}-shm").stat()
        names = os.listdir(DESCRIPTORS)  # noqa: PTH208 — numbers, not paths
    except OSError:
        return None
    for name in names:
        try:
            if os.path.samestat(wanted, os.fstat(int(name))):
                return int(name)
        except OSError:
            continue
    return None


def _readers(shared: os.stat_result, marks: list[int]) -> frozenset[WalReader]:
    """Return the other processes that hold a read lock: `1: POSIX ADVISORY READ 4711 fd:01:5678 124 124`."""
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    found: set[WalReader] = set()
    for line in LOCKS.read_text(encoding="ascii").splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[1] == "POSIX" and fields[5] == place:  # noqa: PLR2004 — a line without "->"
            pid, first, last = int(fields[4]), int(fields[6]), int(fields[7].replace("EOF", "0"))
            held = range(max(first, READ_LOCKS_AT), min(last, READ_LOCKS_AT + MARKS - 1) + 1)
            found |= {WalReader(pid, at - READ_LOCKS_AT, marks[at - READ_LOCKS_AT]) for at in held}
    return frozenset(one for one in found if one.pid not in (os.getpid(), 0, -1))
