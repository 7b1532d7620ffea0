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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from leasehold.pipelines.download.files.anonymous_file import supports_anonymous_files
from leasehold.pipelines.download.files.part_file import BLOCK_BYTES, READ_ONLY
from leasehold.pipelines.shell.locate import HOME

IDENTITY: Final = "identity"
NAME_BYTES_MAX: Final = 200
_unsafe: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]+')


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a whole file lies; `is_new`: its content was not there before."""

    sha256: str
    is_new: bool


class Publishable(Protocol):
    """All bytes of a file that shall become whole: a draft, or a content that is loose."""

    @property
    def size(self) -> int:
        """How many they are."""

    def start_writeback(self) -> None:
        """Have them on their way to the disk."""

    def fsync(self) -> OSError | None:
        """Have them survive a loss of power; return what went wrong."""

    def link(self, target: str) -> None:
        """Have them under this name; `FileExistsError` where there is one."""

    def replace(self, target: str) -> None:
        """Have them under this name instead of what is there."""

    def finish(self) -> None:
        """Keep them under that name alone."""


class ContentStore:
    """The folder of one collection."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.staging = root / HOME / "staging"
        self._staging = str(self.staging)
        self._objects = root / "sha256"
        self._names = root / "files"

    def make(self) -> None:
        """Make the folders that must be there."""
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
        """Whether a content can be kept without a part here."""
        return supports_anonymous_files(self.staging)

    def part(self, key: str) -> Path:
        """Where the bytes of a job are written."""
        return Path(self.part_path(key))

    def part_path(self, key: str) -> str:
        """Return the same as plain text: it is needed for every file."""
        return f"{self._staging}/{key}.part"

    def object(self, sha256: str) -> Path:
        """Where a content lies, or would."""
        return self._objects / sha256[:2] / sha256[2:]

    def has(self, sha256: str) -> bool:
        return self.object(sha256).is_file()

    def publish(self, part_file: Publishable, sha256: str) -> Publication:
        """Make a part whole under its hash. Safe to repeat: what a crash left half-done is completed."""
        (kept,) = self.publish_all([(part_file, sha256)])
        if isinstance(kept, Exception):
            raise kept
        return kept

    def publish_all(self, part_files: Sequence[tuple[Publishable, str]]) -> list[Publication | Exception]:
        """Make parts whole, each as if it were alone; what can be synced for all of them at once is.

        All bytes are sent to the disk before the first is waited for, and nothing is changed between one sync and the
        next: then a journalling file system commits once or twice for all, not once for each.
        """
        for part_file, _ in part_files:
            part_file.start_writeback()
        troubles = [part_file.fsync() for part_file, _ in part_files]
        kept = [
            trouble or self._link(part_file, sha256)
            for (part_file, sha256), trouble in zip(part_files, troubles, strict=True)
        ]
        fine = {sha256[:2] for (_, sha256), one in zip(part_files, kept, strict=True) if isinstance(one, Publication)}
        for folder in sorted(fine):
            sync(f"{self._objects}/{folder}")
        sync(str(self._objects))
        # crash here: linked but not unlinked
        # The part is another name of the whole file; the next attempt finds that and takes the name away.
        for (part_file, _), one in zip(part_files, kept, strict=True):
            if isinstance(one, Publication):
                part_file.finish()
        return kept

    def ensure_durable(self, sha256: str) -> None:
        """Complete a content whose writer may have died after the link: make it read-only and sync its name."""
        with suppress(OSError):
            self.object(sha256).chmod(READ_ONLY)
        sync(str(self.object(sha256).parent))
        sync(str(self._objects))

    def _link(self, part_file: Publishable, sha256: str) -> Publication | Exception:
        """Link a part under its hash. With plain texts: it is done for every file."""
        folder = f"{self._objects}/{sha256[:2]}"
        target = f"{folder}/{sha256[2:]}"
        try:
            try:
                part_file.link(target)
            except FileNotFoundError:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103
                part_file.link(target)
        except FileExistsError:
            return self._compare(part_file, target, sha256)
        except OSError as error:
            return error
        return Publication(sha256, is_new=True)

    def _compare(self, part_file: Publishable, target: str, sha256: str) -> Publication | Exception:
        """See that what is there is what it should be; if it is not, what was just fetched takes its place."""
        try:
            if hash_of(Path(target)) == (sha256, part_file.size):
                return Publication(sha256, is_new=False)
            part_file.replace(target)
            return Publication(sha256, is_new=True)
        except OSError as error:
            return error

    def name(self, work_id: str, wanted: str, key: str, sha256: str) -> str:
        """Link a name for people to a content, and return it; one that is taken by other content gets a suffix."""
        folder = f"files/{clean_name(work_id, 'work')}"
        stem, _, suffix = clean_name(wanted, "file").rpartition(".")
        front, ending = (stem, f".{suffix}") if stem else (suffix, "")
        marks = ("", f"-{key[:8]}", f"-{key[:8]}-{sha256[:8]}")  # the last, if this artifact had other content before
        for name in (f"{front}{mark}{ending}" for mark in marks):
            if self._lead(f"{self.root}/{folder}", name, f"../../sha256/{sha256[:2]}/{sha256[2:]}"):
                return f"{folder}/{name}"
        raise FileExistsError(f"{folder}/{name} is there and leads elsewhere")

    def _lead(self, folder: str, name: str, aim: str) -> bool:
        link = f"{folder}/{name}"
        try:
            try:
                os.symlink(aim, link)  # noqa: PTH211
            except FileNotFoundError:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103
                os.symlink(aim, link)  # noqa: PTH211
            return True
        except FileExistsError:
            return os.path.islink(link) and os.readlink(link) == aim  # noqa: PTH114, PTH115


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


def hash_of(path: Path, upto: int | None = None) -> tuple[str, int]:
    """Return the sha256 of a file's bytes, or of the first so many, and how many they were."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES if upto is None else min(BLOCK_BYTES, upto - size)):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def sync(path: str) -> None:
    """Have a file, or the names in a folder, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
