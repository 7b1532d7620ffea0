"""A small content that came in one piece: written to a file that has no name before it is whole.

Nobody else can get at such a file, so it needs no lock; and a crash leaves nothing of it.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from leasehold.pipelines.download.files.part import READ_ONLY


class AnonymousFile:
    """A content, and the file that it is written to."""

    def __init__(self, content: bytes, folder: Path) -> None:
        self._view = memoryview(content)
        self._folder = folder
        self._descriptor = -1
        self._trouble: OSError | None = None
        self.size = len(content)

    def start_writeback(self) -> None:
        """Write it, and have it on its way to the disk."""
        try:
            self._descriptor = os.open(self._folder, os.O_TMPFILE | os.O_WRONLY, READ_ONLY)
            os.fchmod(self._descriptor, READ_ONLY)  # regardless of the umask
            while self._view:
                self._view = self._view[os.write(self._descriptor, self._view) :]
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            self._trouble = error

    def fsync(self) -> OSError | None:
        if self._trouble is None:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                self._trouble = error
        return self._trouble

    def link(self, target: str) -> None:
        # Only with a folder's descriptor does Python follow the link, which leads to the file itself.
        os.link(f"/proc/self/fd/{self._descriptor}", target, src_dir_fd=self._descriptor, follow_symlinks=True)

    def replace(self, target: str) -> None:
        passing = f"{self._folder}/{secrets.token_hex(32)}.part"  # named as one of no job: it is taken away when old
        self.link(passing)
        os.replace(passing, target)  # noqa: PTH105

    def finish(self) -> None:
        """It has had no other name."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def supports_anonymous_files(folder: Path) -> bool:
    if not hasattr(os, "O_TMPFILE"):
        return False
    trial = AnonymousFile(b"", folder)
    name = folder / f"{secrets.token_hex(32)}.part"
    trial.start_writeback()
    try:
        if trial.fsync() is not None:
            return False
        trial.link(str(name))
        return True
    except OSError:
        return False
    finally:
        trial.close()
        with suppress(OSError):
            name.unlink(missing_ok=True)
