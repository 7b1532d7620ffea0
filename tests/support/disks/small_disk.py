"""A disk that is really full: a small tmpfs of its own, mounted for one test and gone with it. Linux, as root."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

CHUNK = 1 << 16


class SmallDisk:
    """A folder with little room, which `fill` takes and `clear` gives back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room at all."""
        with contextlib.suppress(OSError), self._ballast.open("ab", buffering=0) as ballast:
            while ballast.write(bytes(CHUNK)) == CHUNK:
                pass

    def clear(self) -> None:
        """Give the room back."""
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    """Mount a disk of this size."""
    if os.geteuid() != 0:
        raise PermissionError("A disk that is really full is a tmpfs of its own, which only root can mount.")
    folder = Path(tempfile.mkdtemp(prefix="leasehold-disk-", dir="/tmp"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0755", "tmpfs", str(folder)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)  # noqa: S607
        folder.rmdir()
