"""Where tests keep files that need not outlive the machine: in memory, if there is room, else on the disk.

A program that is killed leaves the same bytes in either. What a machine without power leaves is tested on disks that
are made for it (`tests/support/disks/`).
"""

import shutil
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/dev/shm")
FREE_BYTES_MIN: Final = 4 << 30


def folder_in_memory() -> Path | None:
    """Return a folder whose files are in memory; None if this machine has none or has little left."""
    if FOLDER.is_dir() and shutil.disk_usage(FOLDER).free > FREE_BYTES_MIN:
        return FOLDER
    return None
