"""A partial file: its bytes, the sidecar that states what they belong to, and the lock of the attempt that writes.

A later attempt resumes from both. The sidecar has the validator and the length of then, and how many bytes were synced.
After a crash of the process all that was written counts, since the kernel has it; after a crash of the machine only
what was synced does. An attempt that has lost its lease may not have noticed. It cannot get at a part that another has
locked; nor at one that became a whole file meanwhile, since that has another name by then.
"""

import fcntl
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from leasehold.errors import Transient
from leasehold.pipelines.download.http.client import Head

RESUMABLE_BYTES: Final = 64 * 1024  # a smaller file is fetched again from its start
BLOCK_BYTES: Final = 1024 * 1024
OPENINGS_MAX: Final = 10
READ_ONLY: Final = 0o444


@dataclass(frozen=True, slots=True)
class Sidecar:
    """What the bytes of a part belong to."""

    url: str
    validator: str | None
    length: int | None
    synced: int
    boot: str


class Part:
    def __init__(self, place: str | Path, boot: str) -> None:
        self._place = place  # of most files nothing but this is ever needed
        self._boot = boot

    @cached_property
    def path(self) -> Path:
        return Path(self._place)

    @cached_property
    def _sidecar(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def exists(self) -> bool:
        return os.path.exists(self._place)  # noqa: PTH110

    def resumable_bytes(self, head: Head) -> int:
        sidecar, size = self.read(head)
        same = sidecar is not None and (sidecar.validator, sidecar.length) == (head.validator, head.length)
        return size if same else 0

    def read(self, head: Head) -> tuple[Sidecar | None, int]:
        """Return the sidecar, and how many bytes of the part are certain to be there."""
        try:
            size = os.stat(self._place).st_size  # noqa: PTH116 — asked for every file, and most have no part
        except FileNotFoundError:
            return None, 0
        try:
            sidecar = Sidecar(**json.loads(self._sidecar.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None, 0  # none, or torn: the part is of no use
        if sidecar.validator is None or not _is_same_place(sidecar.url, head):
            return None, 0
        return sidecar, size if sidecar.boot == self._boot and self._boot else min(size, sidecar.synced)

    def write(self, sidecar: Sidecar) -> None:
        unfinished = self._sidecar.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(sidecar)), encoding="utf-8")
        unfinished.replace(self._sidecar)

    def sidecar(self, head: Head) -> Sidecar:
        return Sidecar(head.url, head.validator, head.length, 0, self._boot)

    def record_synced(self, sidecar: Sidecar, synced: int) -> None:
        self.write(replace(sidecar, synced=synced, boot=self._boot))

    def begin(self, head: Head) -> None:
        """Write the sidecar, if the file is large enough to be resumed."""
        if is_small(head):
            self._sidecar.unlink(missing_ok=True)
        else:
            self.write(self.sidecar(head))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self._sidecar.unlink(missing_ok=True)


def _is_same_place(url: str, head: Head) -> bool:
    """Whether a file lies where it lay. One signed for each request has another query; then a tag decides."""
    return url == head.url or (head.etag is not None and url.partition("?")[0] == head.url.partition("?")[0])


def is_small(head: Head) -> bool:
    """Whether a file is known to be so small that it is read at once."""
    return head.length is not None and head.length < RESUMABLE_BYTES


class LockedPart:
    """An open part: from its first byte until it is whole, nobody else writes to it.

    Without `make`, `FileNotFoundError` where there is none.
    """

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
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(self.descriptor)  # macOS has no fdatasync

    def start_writeback(self) -> None:
        with suppress(OSError, AttributeError):  # `fsync` reports an error; macOS has no posix_fadvise
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
        if not self.is_in_place:
            raise FileNotFoundError(f"{self.path.name} was removed")
        os.link(self.path, target)

    def replace(self, target: str) -> None:
        os.replace(self.path, target)  # noqa: PTH105

    def finish(self) -> None:
        """Remove the part's name, then make the whole file read-only: the next attempt must be able to open a part."""
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


def digest_of(part_file: LockedPart, upto: int) -> Any:
    """Return a sha256 over the first so many bytes, which must be there."""
    digest = hashlib.sha256()
    part_file.hash_into(digest, 0, upto)
    return digest
