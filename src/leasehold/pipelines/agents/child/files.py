"""Files that are whole and durable when they have their name, and hashed while they are written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self


class DraftFile:
    """A file under a name of its own until it is published."""

    def __init__(self, path: Path) -> None:
        self.size = 0
        self._target = path
        self._draft = path.with_name(f".{path.name}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._draft, flags, 0o600), "wb")
        self._hash = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)

    def publish(self) -> str:
        """Make it durable, give it its name, and return its sha256."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._target)
        fsync_folder(self._target.parent)
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close it. A draft that was not published stays."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_durably(path: Path, chunks: Iterable[bytes]) -> str:
    """Write a file that is either there with all of its content or not at all; return its sha256."""
    with DraftFile(path) as draft:
        for chunk in chunks:
            draft.write(chunk)
        return draft.publish()


def fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
