"""One SQLite library per process: a second one that opens and closes our file would drop our POSIX locks.

An audit hook refuses the standard library's `sqlite3.connect` and plain `open` on the engine's files in this
process, by any name or link. Files that were opened before the engine are found once, in /proc/self/fd. An ATTACH
through the standard library's sqlite3 cannot be refused: it raises no audit event.

It also knows what the file system allows: whether a file is there, may be used, and has room to grow.
"""

import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote, urlsplit

import apsw

from leasehold.errors import RightsMissing, SecondLibrary

K = TypeVar("K")

FILE_REMEDY: Final = "SQLite needs the right to read and write the file and its folder, which holds the WAL too."
_SUFFIXES: Final = ("", "-wal", "-shm")
_guarded: Final[dict[str, int]] = {}
_identities: Final[dict[tuple[int, int], str]] = {}  # device and inode of each guarded file, and its database
_expected: Final[dict[str, str]] = {}  # companion files that SQLite has not created yet, and their database
_endings: tuple[str, ...] = ()
_lock: Final = threading.Lock()
_installed = threading.Event()


def protect(path: Path) -> None:
    """Refuse other openings of `path` in this process from now on."""
    with _lock:
        real = os.path.realpath(path)
        if real not in _guarded:
            _refuse_if_open(real)
        _guarded[real] = _guarded.get(real, 0) + 1
        _update_endings()
        if not _installed.is_set():
            sys.addaudithook(_hook)
            _installed.set()


def recognise(path: Path) -> None:
    """Record the inodes of `path` and its companions, to recognise them under other names."""
    real = os.path.realpath(path)
    with _lock:
        _expected.update(dict.fromkeys((real + suffix for suffix in _SUFFIXES), real))
    _record_created()


def _record_created() -> None:
    for name, real in list(_expected.items()):
        if identity := _identity(name):
            _identities[identity] = real
            _expected.pop(name, None)


def release(path: Path) -> None:
    """Forget `path` when its last connection is closed."""
    with _lock:
        real = os.path.realpath(path)
        left = _guarded.get(real, 0) - 1
        if left > 0:
            _guarded[real] = left
        else:
            _guarded.pop(real, None)
            _update_endings()
            _forget(_expected, real)
            _forget(_identities, real)


def _forget(known: dict[K, str], real: str) -> None:
    for key in [key for key, owner in list(known.items()) if owner == real]:
        known.pop(key, None)


def _refuse_if_open(real: str) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir() or not Path(real).exists():
        return
    if any(_may_lead_to(real, connection) for connection in apsw.connections()):
        return  # the caller's own connection through our library, which is the one to use
    for entry in descriptors.iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target in {real + suffix for suffix in _SUFFIXES}:
            raise SecondLibrary(f"{real} is open here already; close it before Leasehold opens it.")


def _may_lead_to(real: str, connection: apsw.Connection) -> bool:
    try:
        name = connection.filename
    except apsw.ThreadingViolationError:  # another thread is using it at this moment
        return True
    except apsw.ConnectionClosedError:
        return False
    return bool(name) and os.path.realpath(name) == real


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _guarded or event not in ("open", "sqlite3.connect"):
        return
    target = arguments[0]
    if not isinstance(target, str | bytes | os.PathLike):
        return
    name = os.fsdecode(target)
    if _expected:
        _record_created()
    if event == "sqlite3.connect":
        _refuse(unquote(urlsplit(name).path) if name.startswith("file:") else name)
    elif _identity(name) in _identities or name.endswith(_endings):
        _refuse(name)


def _identity(name: str) -> tuple[int, int] | None:
    try:
        found = os.stat(name)  # noqa: PTH116 — for every open() of the process: a Path would cost more than the call
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _update_endings() -> None:
    """Collect the last parts of the names of guarded files: they are compared at every open() of the process."""
    global _endings  # noqa: PLW0603 — put in place whole, since other threads read it
    _endings = tuple(os.path.basename(real) + suffix for real in _guarded for suffix in _SUFFIXES)  # noqa: PTH119


def _refuse(name: str) -> None:
    real = os.path.realpath(name)
    if _identity(name) in _identities or any(real == kept + suffix for kept in list(_guarded) for suffix in _SUFFIXES):
        raise SecondLibrary(f"The file is {name}.")


def is_file(path: Path) -> bool:
    return _has_type(path, stat.S_ISREG)


def is_folder(path: Path) -> bool:
    return _has_type(path, stat.S_ISDIR)


def is_denied(path: Path) -> bool:
    """Whether this user may not write the file or its folder."""
    return is_folder(path.parent) and not all(os.access(one, os.W_OK) for one in (path, path.parent) if one.exists())


def is_disk_full(path: Path) -> bool:
    try:
        return os.statvfs(path.parent).f_bavail == 0
    except OSError:
        return False


def _has_type(path: Path, is_type: Callable[[int], bool]) -> bool:
    try:
        return is_type(path.stat().st_mode)
    except PermissionError as error:
        raise RightsMissing(f"{path} cannot be reached; {FILE_REMEDY}") from error
    except OSError:
        return False
