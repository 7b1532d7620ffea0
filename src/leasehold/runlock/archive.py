"""Putting a stale lock aside: it gets a second name, which cannot overwrite, and then loses its first."""

from __future__ import annotations

import os
from pathlib import Path

from leasehold.clock import SECOND
from leasehold.runlock.constants import ARCHIVES_MAX, LOCK_FILE_NAME
from leasehold.runlock.errors import LockFailed
from leasehold.runlock.reading import Found, Identity, identity_of
from leasehold.runlock.writing import sync_folder


def archive(run_dir: Path, stale: Found) -> Path:
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


def _is_linked(lock: Path, place: Path, stale: Identity) -> bool:
    """Whether the stale lock has this name now, by us or by one who was killed before taking the other away."""
    try:
        os.link(lock, place, follow_symlinks=False)
    except FileExistsError:
        return identity_of(os.lstat(place)) == stale
    if identity_of(os.lstat(place)) == stale:
        return True
    place.unlink()
    raise LockFailed("another program, which does not heed RUNNING.guard, replaced the lock meanwhile; start again.")
