"""The guard: a file whose `flock` is held around every read of the lock that leads to a change of it.

The file has no content and is never deleted: deleting it would let two processes in at once, one through the old file
and one through the new. A process suspended inside blocks the others, so they wait for a limited time.
"""

import errno
import fcntl
import os
import random
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from leasehold import clock
from leasehold.runlock.constants import GUARD_FILE_NAME, LOCK_STALE_RETRY_BASE_SLEEP_SECONDS
from leasehold.runlock.errors import LockFailed
from leasehold.runlock.limits import GUARD_PAUSE_SECONDS
from leasehold.runlock.payload import shown

# A FIFO in its place must not make us wait, nor a link lead elsewhere.
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def guarded(run_dir: Path, wait_seconds: float) -> Iterator[None]:
    """Be the only one who changes the lock of this folder."""
    file = _opened(run_dir / GUARD_FILE_NAME, clock.uptime() + clock.microseconds(wait_seconds))
    try:
        yield
    finally:
        # Closing alone would not do: a child that was forked meanwhile has the file open too.
        fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def _opened(path: Path, deadline: int) -> int:
    """Return the guard, open and locked, and still the file of that name."""
    while True:
        file = os.open(path, _FLAGS, 0o600)
        try:
            _wait(file, path, deadline)
            if _is_named(path, file):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _wait(file: int, path: Path, deadline: int) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise LockFailed(f"{shown(path)} is not a regular file; move it away, and a new one will be made.")
    pause = GUARD_PAUSE_SECONDS
    while not _locked(file):
        if clock.uptime() >= deadline:
            raise LockFailed(
                f"another process has held {shown(path)} all this time, so it is stopped or its disk does not answer."
                f" Find it with `fuser -v {GUARD_FILE_NAME}`, let it go on or end it, and start again."
            )
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, LOCK_STALE_RETRY_BASE_SLEEP_SECONDS)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _is_named(path: Path, file: int) -> bool:
    """Whether nobody deleted the guard, against the rules, while this process waited for it."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(file))
    except FileNotFoundError:
        return False
