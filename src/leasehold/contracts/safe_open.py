"""Opening files of a run folder whose content is not trusted.

Symbolic links are not followed, neither as files nor as folders; a FIFO or a device is not waited for; a file that
grows while it is read is read as far as it went when it was opened.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from leasehold.contracts.diagnostics import FileUnreadable, Problem, Reason

Read = Callable[[int], bytes]

_FILE: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_LINKS: Final = frozenset({errno.ELOOP, errno.ENOTDIR})


@contextmanager
def opened(path: str | Path, within: int | None = None) -> Iterator[Read]:
    """Open a regular file for reading; `within` is the descriptor of the folder that `path` is relative to."""
    with _as_file_unreadable():
        descriptor = os.open(path, _FILE, dir_fd=within)
    try:
        with _as_file_unreadable():
            status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileUnreadable(Problem("$", Reason.FILE_UNREADABLE, "it is not a regular file"))
        left = status.st_size

        def read(most: int) -> bytes:
            nonlocal left
            with _as_file_unreadable():
                piece = os.read(descriptor, min(most, left))
            left -= len(piece)
            return piece

        yield read
    finally:
        os.close(descriptor)


@contextmanager
def folder(path: str | Path) -> Iterator[int]:
    """Open the folder that a caller named, which may be a link, and yield its descriptor."""
    with _as_file_unreadable():
        descriptor = os.open(path, _FOLDER & ~os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def descended(root: int, relative: PurePosixPath) -> Iterator[int]:
    """Open a folder below another, step by step, so that no step is a link; yield its descriptor."""
    descriptor = os.dup(root)
    try:
        for name in relative.parts:
            with _as_file_unreadable():
                deeper = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def names(descriptor: int) -> list[str]:
    with _as_file_unreadable(), os.scandir(descriptor) as entries:
        return sorted(entry.name for entry in entries)


def start_of(read: Read, most: int) -> bytes:
    """Return the beginning of a file: all of it, or so many bytes."""
    text = b""
    while len(text) < most and (piece := read(most - len(text))):
        text += piece
    return text


@contextmanager
def _as_file_unreadable() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileUnreadable(Problem("$", Reason.FILE_MISSING, "there is no such file")) from None
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        is_link = isinstance(error, OSError) and error.errno in _LINKS
        message = "symbolic links are not followed" if is_link else f"it cannot be read: {error}"
        raise FileUnreadable(Problem("$", Reason.FILE_UNREADABLE, message)) from None
