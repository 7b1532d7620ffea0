"""A part that is open and locked: from its first byte until it is whole, nobody else writes to it.

An attempt that has lost its lease may not have noticed. It cannot get at a part that another has locked; nor at one
that became a whole file meanwhile, since that has another name by then.
"""

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from leasehold.errors import Transient

BLOCK_BYTES: Final = 1024 * 1024
OPENINGS_MAX: Final = 10
READ_ONLY: Final = 0o444


class LockedPart:
    """An open part. Without `make`, `FileNotFoundError` where there is none."""

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.path = path
        for _ in range(OPENINGS_MAX):
            self.descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if make else 0), 0o644)
            try:
                if self._is_mine():
                    return
            except BaseException:
                os.close(self.descriptor)
                raise
            os.close(self.descriptor)
        raise Transient(f"{path.name} is replaced again and again", error_class="CONFLICT")

    def _is_mine(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{self.path.name} is still being written by a previous attempt"
            raise Transient(message, error_class="CONFLICT") from None
        if not self.is_in_place:
            return False
        if os.fstat(self.descriptor).st_nlink == 1:
            return True
        self.path.unlink()  # a crash came after it was linked: the whole file stays
        return False

    @property
    def is_in_place(self) -> bool:
        """Whether the part's name still leads here."""
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(self.path))  # noqa: PTH116
        except FileNotFoundError:
            return False

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return os.fstat(self.descriptor).st_size

    def hash_into(self, digest: Any, start: int, upto: int) -> None:
        """Add a stretch of bytes, which must be there, to a digest."""
        block = memoryview(bytearray(min(BLOCK_BYTES, upto - start)))
        while start < upto and (size := os.preadv(self.descriptor, [block[: upto - start]], start)):
            digest.update(block[:size])
            start += size
        if start != upto:
            raise Transient(f"{self.path.name} lost bytes while it was read", error_class="CONFLICT")

    def begin(self, size: int) -> None:
        """Write on from there; what comes after is cut off."""
        os.ftruncate(self.descriptor, size)
        os.lseek(self.descriptor, size, os.SEEK_SET)

    def write(self, view: memoryview) -> None:
        while view:
            view = view[os.write(self.descriptor, view) :]

    def sync(self) -> None:
        """Sync its bytes to the disk."""
        os.fdatasync(self.descriptor)

    def start_writeback(self) -> None:
        """Start to write its bytes to the disk."""
        with suppress(OSError):  # `fsync` reports it
            os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def fsync(self) -> OSError | None:
        """Sync all of it to the disk; return what went wrong.

        A part that could not be synced is removed: the kernel reports that once, and the next sync would succeed.
        """
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            self.path.unlink(missing_ok=True)
            return error
        return None

    def link(self, target: str) -> None:
        """Give it another name."""
        if not self.is_in_place:
            raise FileNotFoundError(f"{self.path.name} was removed")
        os.link(self.path, target)

    def replace(self, target: str) -> None:
        os.replace(self.path, target)  # noqa: PTH105

    def finish(self) -> None:
        """Take away the part's name; the whole file becomes read-only, not before, since a part must open."""
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            os.fchmod(self.descriptor, READ_ONLY)

    def close(self) -> None:
        """Release the lock; a part that nothing was written to is removed."""
        if self.descriptor < 0:
            return
        if self.size == 0 and self.is_in_place:
            self.path.unlink()
        os.close(self.descriptor)
        self.descriptor = -1


def hashed(part_file: LockedPart, upto: int) -> Any:
    """Return a digest over the first so many bytes, which must be there."""
    digest = hashlib.sha256()
    part_file.hash_into(digest, 0, upto)
    return digest
