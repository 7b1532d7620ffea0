"""Putting files into a run's folder whole: under a name of their own first, then by one call that cannot half happen.

All of it is done under the guard, so a file with such a name that somebody finds there is what a kill has left.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Final

from leasehold.clock import SECOND
from leasehold.runlock.constants import LOCK_FILE_NAME, LOCK_STALE_TTL_SECONDS, NONCE_FILE_NAME
from leasehold.runlock.reading import Identity, identity_of

_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY: Final = re.compile(
    rf"\.(?:{re.escape(LOCK_FILE_NAME)}|{re.escape(NONCE_FILE_NAME)})\.tmp\.[0-9]{{1,10}}(?P<ours>\.[0-9a-f]{{16}})?"
)


def publish(path: Path, content: bytes) -> Identity:
    """Make a file that was not there; raise `FileExistsError` if it was."""
    temporary, identity = _write(path, content)
    try:
        os.link(temporary, path)
        # crash here: lock linked, temporary file left
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return identity


def replace(path: Path, content: bytes) -> Identity:
    """Put a file in place of the one of that name, if there is one."""
    temporary, identity = _write(path, content)
    try:
        temporary.rename(path)
    except OSError:
        temporary.unlink()
        raise
    sync_folder(path.parent)
    return identity


def _write(path: Path, content: bytes) -> tuple[Path, Identity]:
    temporary = path.with_name(f".{path.name}.tmp.{os.getpid()}.{secrets.token_hex(8)}")
    file = os.open(temporary, _FLAGS, 0o600)
    try:
        os.fchmod(file, stat.S_IRUSR | stat.S_IWUSR)  # whatever the umask says
        _write_all(file, content)
        os.fsync(file)
        identity = identity_of(os.fstat(file))
    except BaseException:
        temporary.unlink()
        raise
    finally:
        os.close(file)
    return temporary, identity


def _write_all(file: int, content: bytes) -> None:
    """A disk that fills up takes a part and refuses the rest."""
    while content:
        content = content[os.write(file, content) :]


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
