"""The files of a run's folder: reads never block or follow links, and have a limit; writes are atomic.

A file is written under a temporary name first. All writes happen under the guard, so a temporary file that is found
there was left by a kill.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.clock import SECOND
from leasehold.runlock.constants import (
    ARCHIVES_MAX,
    LOCK_BYTES_MAX,
    LOCK_FILE_NAME,
    LOCK_STALE_TTL_SECONDS,
    NONCE_FILE_NAME,
)
from leasehold.runlock.errors import LockFailed, LockInvalid
from leasehold.runlock.payload import REMEDY, Payload, parse, shown

_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY: Final = re.compile(
    rf"\.(?:{re.escape(LOCK_FILE_NAME)}|{re.escape(NONCE_FILE_NAME)})\.tmp\.[0-9]{{1,10}}(?P<ours>\.[0-9a-f]{{16}})?"
)
_REFUSALS: Final = {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.EISDIR}
_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


FileIdentity = tuple[int, int]  # device and inode: which file this is, whatever its name


@dataclass(frozen=True, slots=True)
class LockFile:
    """A valid lock file."""

    payload: Payload
    identity: FileIdentity


def identity_of(found: os.stat_result) -> FileIdentity:
    return found.st_dev, found.st_ino


def read_lock(run_dir: Path) -> LockFile | None:
    """Return the lock, None if there is none; raise `LockInvalid` for whatever else has its name."""
    try:
        content, found = _read(run_dir / LOCK_FILE_NAME)
    except FileNotFoundError:
        return None
    return LockFile(parse(content), identity_of(found))


def read_nonce(run_dir: Path) -> str | None:
    """Return the nonce of the last acquisition, None if nothing readable has its name."""
    try:
        content, _ = _read(run_dir / NONCE_FILE_NAME)
        return content.decode("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError, LockInvalid):
        return None


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    # Checked before it is opened: opening a device may act on it.
    try:
        _check(path, os.lstat(path))
        file = os.open(path, _READ_FLAGS)
        try:
            found = os.fstat(file)
            _check(path, found)
            return os.read(file, LOCK_BYTES_MAX + 1), found
        finally:
            os.close(file)
    except OSError as error:
        if error.errno in _REFUSALS:
            raise LockInvalid(f"{shown(path)} cannot be read ({error.strerror}). {REMEDY}") from None
        raise


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a device")
        raise LockInvalid(f"{shown(path)} is {kind}, not a regular file. {REMEDY}")
    if found.st_size > LOCK_BYTES_MAX:
        raise LockInvalid(f"{shown(path)} has {found.st_size:,} bytes, more than {LOCK_BYTES_MAX:,}. {REMEDY}")


def publish(path: Path, content: bytes) -> FileIdentity:
    """Make a file that was not there; raise `FileExistsError` if it was."""
    temporary, identity = _write(path, content)
    try:
        os.link(temporary, path)
        # crash here: lock linked, temporary file left
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return identity


def replace_file(path: Path, content: bytes) -> FileIdentity:
    """Put a file in place of the one of that name, if there is one."""
    temporary, identity = _write(path, content)
    try:
        temporary.rename(path)
    except OSError:
        temporary.unlink()
        raise
    sync_folder(path.parent)
    return identity


def _write(path: Path, content: bytes) -> tuple[Path, FileIdentity]:
    temporary = path.with_name(f".{path.name}.tmp.{os.getpid()}.{secrets.token_hex(8)}")
    file = os.open(temporary, _WRITE_FLAGS, 0o600)
    try:
        os.fchmod(file, stat.S_IRUSR | stat.S_IWUSR)  # regardless of the umask
        while content:  # a disk that fills up takes a part and refuses the rest
            content = content[os.write(file, content) :]
        os.fsync(file)
        identity = identity_of(os.fstat(file))
    except BaseException:
        temporary.unlink()
        raise
    finally:
        os.close(file)
    return temporary, identity


def sync_folder(folder: Path) -> None:
    """Have the folder's names survive a loss of power, where the file system can."""
    with contextlib.suppress(OSError):  # best effort, as the runbook has it: not every file system syncs folders
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def clean(folder: Path, now: int) -> None:
    """Remove temporary files that kills have left: ours, and others by the runbook's name once they are old."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # best effort: they are in nobody's way
        for entry in entries:
            named = _TEMPORARY.fullmatch(entry.name)
            if named and entry.is_file(follow_symlinks=False) and (named["ours"] or _is_old(entry, now)):
                (folder / entry.name).unlink()


def _is_old(entry: os.DirEntry[str], now: int) -> bool:
    return now - entry.stat(follow_symlinks=False).st_mtime_ns // 1_000 > LOCK_STALE_TTL_SECONDS * SECOND


def archive(run_dir: Path, stale: LockFile) -> Path:
    """Move a stale lock to a name of its own, byte for byte, and return that name. To be called under the guard.

    It is linked under the second name, which cannot overwrite, then the first name is removed.
    """
    lock = run_dir / LOCK_FILE_NAME
    epoch = stale.payload.heartbeat // SECOND
    for number in range(ARCHIVES_MAX):
        place = run_dir / (f"RUNNING.stale.{epoch}.{number}.lock" if number else f"RUNNING.stale.{epoch}.lock")
        if _is_linked(lock, place, stale.identity):
            # crash here: stale lock archived, not yet unlinked
            lock.unlink()
            sync_folder(run_dir)
            return place
    raise LockFailed(
        f"there are {ARCHIVES_MAX:,} archives of that second already; move them elsewhere and start again."
    )


def _is_linked(lock: Path, place: Path, stale: FileIdentity) -> bool:
    """Whether the stale lock has this name now: linked by us, or by a process that was killed before the unlink."""
    try:
        os.link(lock, place, follow_symlinks=False)
    except FileExistsError:
        return identity_of(os.lstat(place)) == stale
    if identity_of(os.lstat(place)) == stale:
        return True
    place.unlink()
    raise LockFailed("another program, which ignores RUNNING.guard, replaced the lock meanwhile; start again.")
