"""Where files lie: whole ones by their hash, names that lead to them, and parts of those that are under way.

    DIR/sha256/ab/cd…           every content once, by its hash abcd…
    DIR/files/WORK/NAME         links for people, relative, so that the folder can be moved
    DIR/.leasehold/staging      parts; nothing else is ever written before it is whole

A file becomes whole by `link(2)` after it was synced: it is there with all its bytes or not at all, and of two that
bring the same content one is first.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from leasehold.pipelines.download.files.part import READ_ONLY, LockedPart
from leasehold.pipelines.shell.locate import HOME

IDENTITY: Final = "identity"
NAME_BYTES_MAX: Final = 200
_unsafe: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]+')


class AnonymousFile:
    """A small content that came in one piece, and the file that it is written to, which has no name before it is whole.

    Nobody else can get at such a file, so it needs no lock; and a crash leaves nothing of it.
    """

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


Publishable = LockedPart | AnonymousFile
PublishResult = bool | Exception  # whether the content was not there before


class ContentStore:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.staging = root / HOME / "staging"
        self._staging = str(self.staging)
        self._objects = root / "sha256"
        self._names = root / "files"

    def make(self) -> None:
        for folder in (self.staging, self._objects, self._names):
            folder.mkdir(parents=True, exist_ok=True)

    def identity(self) -> str:
        """Return the name that this folder has given itself, the same for all who share it."""
        path = self.root / HOME / IDENTITY
        mine = path.with_name(f"{IDENTITY}.{secrets.token_hex(8)}")
        if not path.exists():
            mine.write_text(secrets.token_hex(16), encoding="ascii")
            sync(str(mine))
            with suppress(FileExistsError):
                os.link(mine, path)
            mine.unlink()
            sync(str(path.parent))
        return path.read_text(encoding="ascii")

    @cached_property
    def has_anonymous_files(self) -> bool:
        return supports_anonymous_files(self.staging)

    def part(self, key: str) -> Path:
        return Path(self.part_path(key))

    def part_path(self, key: str) -> str:
        """Return the same as plain text: it is needed for every file."""
        return f"{self._staging}/{key}.part"

    def object(self, sha256: str) -> Path:
        return self._objects / sha256[:2] / sha256[2:]

    def has(self, sha256: str) -> bool:
        return self.object(sha256).is_file()

    def objects(self) -> Iterator[str]:
        for folder, _, names in os.walk(self._objects):
            yield from (f"{folder}/{name}" for name in names)

    def publish(self, part_file: Publishable, sha256: str) -> bool:
        (result,) = self.publish_all([(part_file, sha256)])
        if isinstance(result, Exception):
            raise result
        return result

    def publish_all(self, part_files: Sequence[tuple[Publishable, str]]) -> list[PublishResult]:
        """Make parts whole under their hashes, each as if it were alone.

        Safe to repeat: what a crash left half-done is completed. All bytes are sent to the disk before the first is
        waited for, and nothing is changed between one sync and the next: then a journalling file system commits once or
        twice for all, not once for each.
        """
        for part_file, _ in part_files:
            part_file.start_writeback()
        troubles = [part_file.fsync() for part_file, _ in part_files]
        results = [trouble or self._link(*pair) for pair, trouble in zip(part_files, troubles, strict=True)]
        published = [pair for pair, result in zip(part_files, results, strict=True) if isinstance(result, bool)]
        for folder in sorted({sha256[:2] for _, sha256 in published}):
            sync(f"{self._objects}/{folder}")
        sync(str(self._objects))
        # crash here: linked but not unlinked
        # The part is another name of the whole file; the next attempt finds that and takes the name away.
        for part_file, _ in published:
            part_file.finish()
        return results

    def ensure_durable(self, sha256: str) -> None:
        """Complete a content whose writer may have died after the link: make it read-only and sync its name."""
        with suppress(OSError):
            self.object(sha256).chmod(READ_ONLY)
        sync(str(self.object(sha256).parent))
        sync(str(self._objects))

    def _link(self, part_file: Publishable, sha256: str) -> PublishResult:
        """Link a part under its hash; it takes the place of a content that is not what it should be."""
        folder = f"{self._objects}/{sha256[:2]}"
        target = f"{folder}/{sha256[2:]}"
        try:
            try:
                _make_in(folder, partial(part_file.link, target))
            except FileExistsError:
                if hash_of(Path(target)) == (sha256, part_file.size):
                    return False
                part_file.replace(target)
        except OSError as error:
            return error
        return True

    def name(self, work_id: str, wanted: str, key: str, sha256: str) -> str:
        """Link a name for people to a content, and return it; one that is taken by other content gets a suffix."""
        folder = f"files/{clean_name(work_id, 'work')}"
        stem, _, suffix = clean_name(wanted, "file").rpartition(".")
        front, ending = (stem, f".{suffix}") if stem else (suffix, "")
        marks = ("", f"-{key[:8]}", f"-{key[:8]}-{sha256[:8]}")  # the last, if this artifact had other content before
        for name in (f"{front}{mark}{ending}" for mark in marks):
            if self._leads(f"{self.root}/{folder}", name, f"../../sha256/{sha256[:2]}/{sha256[2:]}"):
                return f"{folder}/{name}"
        raise FileExistsError(f"{folder}/{name} is there and leads elsewhere")

    def _leads(self, folder: str, name: str, aim: str) -> bool:
        """Link a name, if there is none; return whether it leads there."""
        link = f"{folder}/{name}"
        try:
            _make_in(folder, partial(os.symlink, aim, link))
        except FileExistsError:
            return os.path.islink(link) and os.readlink(link) == aim  # noqa: PTH114, PTH115
        return True


def _make_in(folder: str, make: Callable[[], None]) -> None:
    """Make something in a folder, which is made if it is missing. With plain texts: it is done for every file."""
    try:
        make()
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        make()


def clean_name(text: str, otherwise: str) -> str:
    """Return a text as the name of a file or folder on any system: no path, nothing hidden, not too long."""
    name = _unsafe.sub("_", text).strip(" .")
    if len(name.encode("utf-8")) > NAME_BYTES_MAX:
        stem, dot, suffix = name.rpartition(".")
        ending = f"{dot}{suffix}" if stem and len(suffix) <= 16 else ""  # noqa: PLR2004 — longer is no file type
        digest = hashlib.sha256(name.encode("utf-8")).hexdigest()[:8]
        room = NAME_BYTES_MAX - len(ending.encode("utf-8")) - len(digest) - 1
        name = f"{name.encode('utf-8')[:room].decode('utf-8', 'ignore')}-{digest}{ending}"
    return name or otherwise


def hash_of(path: Path) -> tuple[str, int]:
    """Return the sha256 of a file's bytes, and how many they are."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()


def sync(path: str) -> None:
    """Have a file, or the names in a folder, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def supports_anonymous_files(folder: Path) -> bool:
    if not hasattr(os, "O_TMPFILE"):
        return False
    name = folder / f"{secrets.token_hex(32)}.part"
    with closing(AnonymousFile(b"", folder)) as trial, suppress(OSError):
        trial.start_writeback()
        if trial.fsync() is None:
            trial.link(str(name))
            name.unlink()
            return True
    return False
