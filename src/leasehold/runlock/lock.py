"""Acquire, heartbeat, release: the three changes of a run lock, each under the guard and after a look at what is there.

Who holds a lock is told by the nonce of its acquisition, which lies beside it: the same run of the same process may
hold a later lock, and a file system gives an inode's number to the next file. A holder that was overtaken therefore
changes nothing, whenever it wakes up.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from leasehold import clock
from leasehold.runlock.archive import archive
from leasehold.runlock.constants import (
    GUARD_WAIT_SECONDS,
    LOCK_FILE_NAME,
    LOCK_STALE_RETRY_BASE_SLEEP_SECONDS,
    NONCE_FILE_NAME,
    PASSES_MAX,
)
from leasehold.runlock.errors import LockFailed, LockInvalid, LockLost, ReleaseRefused, RunActive, RunLockError
from leasehold.runlock.guard import guarded
from leasehold.runlock.payload import Payload, Standing, check_run_id, judge, shown, text_of
from leasehold.runlock.reading import Found, Identity, read_lock, read_nonce
from leasehold.runlock.writing import clean, publish, sync_folder
from leasehold.runlock.writing import replace as replace_file

Clock = Callable[[], int]
Audit = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunLock:
    """A lock as its holder knows it. A heartbeat returns the next one, which takes this one's place."""

    run_dir: Path
    payload: Payload
    nonce: str
    identity: Identity

    @property
    def path(self) -> Path:
        """Where the lock lies."""
        return self.run_dir / LOCK_FILE_NAME


@dataclass(frozen=True, slots=True)
class Archived:
    """A stale lock was put aside; whoever did so looks again."""

    place: Path
    payload: Payload


def to_stderr(line: str) -> None:
    """Write an audit line where the runbook has it."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def acquire(
    run_dir: str | os.PathLike[str],
    run_id: str,
    *,
    now: Clock = clock.wall,
    audit: Audit = to_stderr,
    wait_seconds: float = GUARD_WAIT_SECONDS,
) -> RunLock:
    """Take the lock of a run's folder, which is made if it is not there; a stale lock is archived first.

    Raises `RunActive` or `LockInvalid`, leaving that lock as it is, or `LockFailed`.
    """
    check_run_id(run_id)
    with _told():
        folder = Path(run_dir).absolute()  # or a change of the working folder would lose it
    for _ in range(PASSES_MAX):
        with _told():
            folder.mkdir(parents=True, exist_ok=True)
            with guarded(folder, wait_seconds):
                done = _pass(folder, run_id, now())
        if isinstance(done, RunLock):
            return done
        if done is not None:
            audit(f"Archived stale lock to {shown(done.place)} ({done.payload.told()})")
        time.sleep(LOCK_STALE_RETRY_BASE_SLEEP_SECONDS * random.uniform(0.5, 1.5))
    raise LockFailed(f"another program keeps leaving locks in {shown(folder)}; end it and start again.")


def _pass(folder: Path, run_id: str, now: int) -> RunLock | Archived | None:
    """Look once, and do the one thing that follows; None if a program that heeds no guard came between."""
    clean(folder, now)
    found = read_lock(folder)
    if found is None:
        return _publish(folder, run_id, now)
    if judge(found.payload, now) is Standing.FRESH:
        raise RunActive(f"at {shown(folder / LOCK_FILE_NAME)} ({found.payload.told()}). Wait for that run, or end it.")
    return Archived(archive(folder, found), found.payload)


def _publish(folder: Path, run_id: str, now: int) -> RunLock | None:
    payload = Payload(os.getpid(), socket.gethostname() or "localhost", text_of(now), text_of(now), run_id)
    nonce = secrets.token_hex(16)
    replace_file(folder / NONCE_FILE_NAME, nonce.encode("ascii"))
    # crash here: nonce written, no lock yet
    try:
        identity = publish(folder / LOCK_FILE_NAME, payload.encode())
    except FileExistsError:
        return None
    return RunLock(folder, payload, nonce, identity)


def heartbeat(lock: RunLock, *, now: Clock = clock.wall, wait_seconds: float = GUARD_WAIT_SECONDS) -> RunLock:
    """Say that the run goes on, and return the lock as it is from now on.

    Raises `LockLost` or `LockInvalid` if the lock is no longer this one, and changes nothing then.
    """
    with _told(), _guarded(lock, LockLost, wait_seconds):
        _check_held(lock)
        payload = replace(lock.payload, last_heartbeat_at=text_of(now()))
        identity = replace_file(lock.path, payload.encode())
    return replace(lock, payload=payload, identity=identity)


def confirm(lock: RunLock, *, wait_seconds: float = GUARD_WAIT_SECONDS) -> None:
    """See that the lock is still this one. Raises as `heartbeat` does, and changes nothing."""
    with _told(), _guarded(lock, LockLost, wait_seconds):
        _check_held(lock)


def release(lock: RunLock, *, wait_seconds: float = GUARD_WAIT_SECONDS) -> None:
    """Give the lock up. Raises `ReleaseRefused` if it is no longer this one, and removes nothing then."""
    with _told(), _guarded(lock, ReleaseRefused, wait_seconds):
        try:
            lost = _difference(lock, read_lock(lock.run_dir))
        except LockInvalid as error:
            lost = error.detail
        if lost:
            raise ReleaseRefused(f"{lost} Nothing was removed.")
        lock.path.unlink()
        # crash here: lock released, nonce left
        (lock.run_dir / NONCE_FILE_NAME).unlink(missing_ok=True)
        sync_folder(lock.run_dir)


@contextmanager
def _guarded(lock: RunLock, refusal: type[RunLockError], wait_seconds: float) -> Iterator[None]:
    """Take the guard of a lock's folder, unless the folder itself is gone: then so is the lock."""
    if not lock.run_dir.is_dir():
        raise refusal(f"{shown(lock.path)} is gone, and its folder with it.")
    with guarded(lock.run_dir, wait_seconds):
        yield


def _check_held(lock: RunLock) -> None:
    if lost := _difference(lock, read_lock(lock.run_dir)):
        raise LockLost(f"{lost} This run stops here and leaves what is there as it is.")


def _difference(lock: RunLock, found: Found | None) -> str:
    """Say why what lies there is not this lock; an empty text if it is."""
    path = shown(lock.path)
    if lock.payload.pid != os.getpid():
        return f"{path} was acquired by process {lock.payload.pid}, of which this one is a child."
    if found is None:
        return f"{path} is gone."
    if found.payload.run_id != lock.payload.run_id:
        return f"{path} is of run {shown(found.payload.run_id)} now, not of {shown(lock.payload.run_id)}."
    if found.identity != lock.identity or read_nonce(lock.run_dir) != lock.nonce:
        return f"{path} is of another acquisition now ({found.payload.told()})."
    return ""


@contextmanager
def _told() -> Iterator[None]:
    """Let what the system refuses end as the runbook has it."""
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename
        place = f" ({shown(name)})" if name else ""
        raise LockFailed(f"{error.strerror or error}{place}. Check the folder, its owner and its disk.") from error
