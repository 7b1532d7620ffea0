"""Looking at what lies in a run's folder, whatever it is: nothing here waits, follows links or reads without limit."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.runlock.constants import LOCK_BYTES_MAX, LOCK_FILE_NAME, NONCE_FILE_NAME
from leasehold.runlock.errors import LockInvalid
from leasehold.runlock.payload import REMEDY, Payload, parse, shown

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REFUSALS: Final = {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.EISDIR}
_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """Which file this is, whatever its name."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Found:
    """A valid lock file."""

    payload: Payload
    identity: Identity


def identity_of(found: os.stat_result) -> Identity:
    """Return which file this is."""
    return Identity(found.st_dev, found.st_ino)


def read_lock(run_dir: Path) -> Found | None:
    """Return the lock, None if there is none; raise `LockInvalid` for whatever else has its name."""
    path = run_dir / LOCK_FILE_NAME
    try:
        content, found = _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _REFUSALS:
            raise LockInvalid(f"{shown(path)} cannot be read ({error.strerror}). {REMEDY}") from None
        raise
    return Found(parse(content), identity_of(found))


def read_nonce(run_dir: Path) -> str | None:
    """Return the nonce of the last acquisition, None if nothing readable has its name."""
    try:
        content, _ = _read(run_dir / NONCE_FILE_NAME)
        return content.decode("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError, LockInvalid):
        return None
    except OSError as error:
        if error.errno in _REFUSALS:
            return None
        raise


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    # Looked at first, because opening a device may act on it.
    _check(path, os.lstat(path))
    file = os.open(path, _FLAGS)
    try:
        found = os.fstat(file)
        _check(path, found)
        content = os.read(file, LOCK_BYTES_MAX + 1)
    finally:
        os.close(file)
    return content, found


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a device")
        raise LockInvalid(f"{shown(path)} is {kind}, not a regular file. {REMEDY}")
    if found.st_size > LOCK_BYTES_MAX:
        raise LockInvalid(f"{shown(path)} has {found.st_size:,} bytes, more than {LOCK_BYTES_MAX:,}. {REMEDY}")
