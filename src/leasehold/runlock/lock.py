"""Acquire, heartbeat, release: the three changes of a run lock, each under the guard and after reading the lock.

The nonce of an acquisition, in a file next to the lock, identifies its holder: the same run of the same process may
hold a later lock, and a file system reuses inode numbers. A holder that was overtaken therefore changes nothing,
whenever it wakes up.
"""

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
from leasehold.runlock.constants import (
    GUARD_WAIT_SECONDS,
    LOCK_FILE_NAME,
    LOCK_STALE_RETRY_BASE_SLEEP_SECONDS,
    NONCE_FILE_NAME,
    PASSES_MAX,
)
from leasehold.runlock.errors import LockFailed, LockInvalid, LockLost, ReleaseRefused, RunActive, RunLockError
from leasehold.runlock.files import (
    FileIdentity,
    LockFile,
    archive,
    clean,
    publish,
    read_lock,
    read_nonce,
    replace_file,
    sync_folder,
)
from leasehold.runlock.guard import guarded
from leasehold.runlock.payload import Payload, check_run_id, is_stale, shown, text_of

Clock = Callable[[], int]
Audit = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RunLock:
    """A lock as its holder knows it. A heartbeat returns the next one, which takes this one's place."""

    run_dir: Path
    payload: Payload
    nonce: str
    identity: FileIdentity

    @property
    def path(self) -> Path:
        return self.run_dir / LOCK_FILE_NAME


def to_stderr(line: str) -> None:
    """Write an audit line to standard error, as the runbook requires."""
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
    with _as_lock_error():
        folder = Path(run_dir).absolute()  # or a change of the working folder would lose it
    for _ in range(PASSES_MAX):
        with _as_lock_error():
            folder.mkdir(parents=True, exist_ok=True)
            with guarded(folder, wait_seconds):
                done = _try_once(folder, run_id, now())
        if isinstance(done, RunLock):
            return done
        if done is not None:
            audit(done)
        time.sleep(LOCK_STALE_RETRY_BASE_SLEEP_SECONDS * random.uniform(0.5, 1.5))
    raise LockFailed(f"another program keeps leaving locks in {shown(folder)}; end it and start again.")


def _try_once(folder: Path, run_id: str, now: int) -> RunLock | str | None:
    """Read the lock once and act on it: publish a lock, or archive a stale one and return the audit line.

    None if a program that ignores the guard interfered.
    """
    clean(folder, now)
    found = read_lock(folder)
    if found is None:
        return _publish(folder, run_id, now)
    if not is_stale(found.payload, now):
        raise RunActive(
            f"at {shown(folder / LOCK_FILE_NAME)} ({found.payload.summary()}). Wait for that run, or end it."
        )
    return f"Archived stale lock to {shown(archive(folder, found))} ({found.payload.summary()})"


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
    """Record that the run is alive, and return the lock as it is from now on.

    Raises `LockLost` or `LockInvalid` if the lock is no longer this one, and changes nothing then.
    """
    with _guarded(lock, LockLost, wait_seconds):
        _check_held(lock)
        payload = replace(lock.payload, last_heartbeat_at=text_of(now()))
        identity = replace_file(lock.path, payload.encode())
    return replace(lock, payload=payload, identity=identity)


def confirm(lock: RunLock, *, wait_seconds: float = GUARD_WAIT_SECONDS) -> None:
    """Check that the lock is still this one. Raises as `heartbeat` does, and changes nothing."""
    with _guarded(lock, LockLost, wait_seconds):
        _check_held(lock)


def release(lock: RunLock, *, wait_seconds: float = GUARD_WAIT_SECONDS) -> None:
    """Give the lock up. Raises `ReleaseRefused` if it is no longer this one, and removes nothing then."""
    with _guarded(lock, ReleaseRefused, wait_seconds):
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
    with _as_lock_error():
        if not lock.run_dir.is_dir():
            raise refusal(f"{shown(lock.path)} is gone, and its folder with it.")
        with guarded(lock.run_dir, wait_seconds):
            yield


def _check_held(lock: RunLock) -> None:
    if lost := _difference(lock, read_lock(lock.run_dir)):
        raise LockLost(f"{lost} This run stops here and leaves what is there as it is.")


def _difference(lock: RunLock, found: LockFile | None) -> str:
    """Return why the file is not this lock; an empty text if it is."""
    path = shown(lock.path)
    if lock.payload.pid != os.getpid():
        return f"{path} was acquired by process {lock.payload.pid}, of which this one is a child."
    if found is None:
        return f"{path} is gone."
    if found.payload.run_id != lock.payload.run_id:
        return f"{path} is of run {shown(found.payload.run_id)} now, not of {shown(lock.payload.run_id)}."
    if found.identity != lock.identity or read_nonce(lock.run_dir) != lock.nonce:
        return f"{path} is of another acquisition now ({found.payload.summary()})."
    return ""


@contextmanager
def _as_lock_error() -> Iterator[None]:
    """Turn an error of the operating system into the error of the runbook."""
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename
        place = f" ({shown(name)})" if name else ""
        raise LockFailed(f"{error.strerror or error}{place}. Check the folder, its owner and its disk.") from error
