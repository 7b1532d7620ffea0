"""Archive a stale lock: link it under a second name, which cannot overwrite, then remove the first name."""

import os
from pathlib import Path

from leasehold.clock import SECOND
from leasehold.runlock.constants import ARCHIVES_MAX, LOCK_FILE_NAME
from leasehold.runlock.errors import LockFailed
from leasehold.runlock.files import FileIdentity, LockFile, identity_of, sync_folder


def archive(run_dir: Path, stale: LockFile) -> Path:
    """Move a stale lock to a name of its own, byte for byte, and return that name. To be called under the guard."""
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
