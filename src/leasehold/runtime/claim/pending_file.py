"""The attempts that a worker has claimed and not begun, in a mapped file that outlives the worker.

Another worker on the same machine reads it when this one is gone: what stands there had not begun, so it spends
nothing. Writing it is a copy of 16 bytes in memory. What cannot be read counts as begun.

The worker holds a lock on the file, so that others know whether it is gone, in another container too.
"""

import fcntl
import mmap
import os
import re
import struct
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Final, Self

from leasehold import clock
from leasehold.model.limits import CONCURRENCY_MAX
from leasehold.runtime.limits import PENDING_KEPT_SECONDS, TEMPORARY_FILES_LOOK_MAX

_NAME: Final = re.compile(r"leasehold-[a-z0-9_]{8}\.pending\Z")
_SLOT: Final = struct.Struct("<qq")
_EMPTY: Final = bytes(_SLOT.size)
Identity = tuple[int, int]
Read = Callable[[str | None], frozenset[Identity]]


class PendingFile:
    """One slot for each place of a worker. Without a file, as in a folder that cannot be written to, `name` is None."""

    def __init__(self, slots: int) -> None:
        self.name: str | None = None
        self._map: mmap.mmap | bytearray = bytearray(slots * _SLOT.size)
        self._free = list(range(slots * _SLOT.size - _SLOT.size, -1, -_SLOT.size))
        self._taken: dict[Identity, int] = {}

    @classmethod
    def make(cls, slots: int) -> Self:
        """Make the file of a worker, in the folder for temporary files, and delete old ones there."""
        made = cls(slots)
        discard_old()
        with suppress(OSError):
            descriptor, path = tempfile.mkstemp(prefix="leasehold-", suffix=".pending")
            made.name = Path(path).name
            try:
                made._fill(descriptor)
            except OSError:
                made.close()
                made.name = None
            finally:
                os.close(descriptor)
        return made

    def _fill(self, descriptor: int) -> None:
        """Map the file. Its blocks are taken first: on a full disk the first write to a page without one kills.

        The map has a copy of the descriptor, so the lock lasts as long as the map.
        """
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(self._map)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._map = mmap.mmap(descriptor, len(self._map))

    def add(self, leases: Iterable[Identity]) -> None:
        """List leases that were just claimed. One for which there is no slot counts as begun."""
        for lease in leases:
            if self._free:
                offset = self._taken[lease] = self._free.pop()
                _SLOT.pack_into(self._map, offset, *lease)

    def remove(self, lease: Identity) -> None:
        """Take a lease off the list: its handler begins, or it was given back."""
        offset = self._taken.pop(lease, None)
        if offset is not None:
            self._map[offset : offset + _SLOT.size] = _EMPTY
            self._free.append(offset)

    def taken(self) -> frozenset[Identity]:
        return frozenset(self._taken)

    def close(self) -> None:
        """Delete the file: nothing is held any more."""
        if self.name is not None:
            discard(self.name)


def read(name: str | None) -> frozenset[Identity]:
    """Return what the worker that wrote this file had claimed and not begun; nothing if it cannot be read."""
    if name is None or not _NAME.match(name):
        return frozenset()
    try:
        descriptor = os.open(_path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not _is_ours(os.fstat(descriptor)):
                return frozenset()
            content = os.read(descriptor, CONCURRENCY_MAX * _SLOT.size)
        finally:
            os.close(descriptor)
    except OSError:
        return frozenset()
    whole = len(content) - len(content) % _SLOT.size
    return frozenset((task, fence) for task, fence in _SLOT.iter_unpack(content[:whole]) if fence)


def discard(name: str | None) -> None:
    """Delete the file of a worker that is gone."""
    if name is not None and _NAME.match(name):
        with suppress(OSError):
            _path(name).unlink()


def discard_old() -> None:
    """Delete the files of workers that are gone, if nobody has swept their databases for long."""
    oldest = clock.wall() / clock.SECOND - PENDING_KEPT_SECONDS
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        found = [entry.name for entry in islice(entries, TEMPORARY_FILES_LOOK_MAX) if _NAME.match(entry.name)]
        for name in found:
            with suppress(OSError):  # it is locked, for one: its worker lives
                _discard_if_older(name, oldest)


def _discard_if_older(name: str, oldest: float) -> None:
    descriptor = os.open(_path(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if _is_ours(found) and found.st_mtime < oldest:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            discard(name)
    finally:
        os.close(descriptor)


def _path(name: str) -> Path:
    return Path(tempfile.gettempdir()) / name


def _is_ours(found: os.stat_result) -> bool:
    """Whether nobody else can have written it."""
    return S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022
