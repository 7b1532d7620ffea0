"""Bad disks for SQLite: layers below the library (`apsw.VFS`) that fill up, cannot sync, or remember what was synced.

Each is installed in a worker process as the layer that every file is opened through. Nothing of the engine knows.
"""

from __future__ import annotations

import os
import random
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

MAGIC = b"\x00platter\xff"
HEADER = struct.Struct("<9sIIcHq")  # magic, checksum, length of the bytes, what, length of the name, offset
SYNC_FAILURES = 0.1
SYNC_SECONDS = 0.01  # of a disk that turns: long enough that a cut finds something written and not synced


class BadFile(apsw.VFSFile):
    """A file whose writes and syncs are shown to a disk first."""

    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.base, name, flags)
        self._disk = disk
        self.name = os.path.basename(name.filename() if isinstance(name, apsw.URIFilename) else name or "")  # noqa: PTH119
        self.dirty = False

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.on_write(self, data, offset)
        self.dirty = True
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.on_truncate(self, size)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.on_sync(self)
        super().xSync(flags)
        self.dirty = False


class Disk(apsw.VFS):
    """A disk on which nothing goes wrong."""

    def __init__(self, folder: Path, *, default: bool = True) -> None:
        self.folder = folder
        self.name = "storm"
        self.base = apsw.vfs_names()[0]
        super().__init__(self.name, self.base, makedefault=default)

    def xOpen(self, name: Any, flags: list[int]) -> BadFile:  # noqa: N802
        return BadFile(self, name, flags)

    def on_write(self, file: BadFile, data: bytes, offset: int) -> None:
        """Hear of a write before it is made."""

    def on_truncate(self, file: BadFile, size: int) -> None:
        """Hear of a truncation before it is made."""

    def on_sync(self, file: BadFile) -> None:
        """Hear of a sync before it is made."""


class FullDisk(Disk):
    """Has no room for one byte more while the file `disk-full` is there."""

    def on_write(self, file: BadFile, data: bytes, offset: int) -> None:
        if offset + len(data) > file.xFileSize() and (self.folder / "disk-full").exists():
            raise apsw.FullError("the disk is full")


class DeafDisk(Disk):
    """Fails now and then, while the file `disk-deaf` is there, to sync the log that a COMMIT waits for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._dice = random.Random(os.getpid())

    def on_sync(self, file: BadFile) -> None:
        # Only what a COMMIT waits for: SQLite itself overlooks a checkpoint that fails, apsw would raise its error.
        if not (file.dirty and file.name.endswith("-wal") and (self.folder / "disk-deaf").exists()):
            return
        if self._dice.random() < SYNC_FAILURES:
            (self.folder / f"deaf-{os.getpid()}-{self._dice.getrandbits(64):x}").touch()
            error = apsw.IOError("the disk does not sync")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
            raise error


class Platter(Disk):
    """Writes down, for all processes together, what was written and what was synced, in order. See `after_the_cut`."""

    def __init__(self, folder: Path, *, default: bool = True) -> None:
        super().__init__(folder, default=default)
        self._log = os.open(folder / "platter", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802
        super().xDelete(filename, syncdir)
        self._note(b"d", os.path.basename(filename), b"", 0)  # noqa: PTH119

    def on_write(self, file: BadFile, data: bytes, offset: int) -> None:
        self._note(b"w", file.name, data, offset)

    def on_truncate(self, file: BadFile, size: int) -> None:
        self._note(b"t", file.name, b"", size)

    def on_sync(self, file: BadFile) -> None:
        threading.Event().wait(SYNC_SECONDS)
        self._note(b"s", file.name, b"", 0)

    def _note(self, what: bytes, name: str, data: bytes, offset: int) -> None:
        body = name.encode() + data
        header = HEADER.pack(MAGIC, zlib.crc32(body), len(data), what, len(body) - len(data), offset)
        os.write(self._log, header + body)


DISKS: dict[str, Callable[[Path], Disk]] = {"full": FullDisk, "deaf": DeafDisk, "platter": Platter}
_installed: list[Disk] = []


def install(name: str, folder: Path) -> None:
    """Have SQLite in this process write through a bad disk from now on."""
    _installed.append(DISKS[name](folder))
