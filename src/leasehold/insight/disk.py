"""The doctor's look at the disk of a SQLite file. That of a PostgreSQL server cannot be seen from here."""

import os
from pathlib import Path

from leasehold.insight.finding import Finding, Grade, ok
from leasehold.insight.limits import DISK_FREE_BYTES_MIN, MEGABYTE

ADVICE = "Nothing can be written when it is full: jobs are refused and results are made again. Free some space."


def check(path: Path) -> Finding:
    """Read how much room its file system has; a try to write would change the database."""
    found = os.statvfs(path.parent)
    return check_room(found.f_bavail * found.f_frsize, has_inodes=found.f_files == 0 or found.f_favail > 0)


def check_room(free: int, *, has_inodes: bool = True) -> Finding:
    """Grade the room that is left. `has_inodes`: whether files can be made, which the write-ahead log is one of."""
    text = f"{free / MEGABYTE:,.0f} MB free"
    if not has_inodes:
        text += ", but no inode"
    if free >= DISK_FREE_BYTES_MIN and has_inodes:
        return ok("disk", text)
    return Finding("disk", Grade.WRONG, text, ADVICE)
