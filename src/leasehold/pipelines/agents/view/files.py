"""What is kept of a child on disk, as a report shows it: the ends of its output, its result, its diff.

A page holds so many characters in all; what does not fit is a link. Only plain files are read, and no link is followed:
a child could have put one there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from msgspec import DecodeError, Struct

from leasehold.canonical import parse
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.child.evidence import MANIFEST, EvidenceFile
from leasehold.pipelines.agents.child.redaction import clean, clean_value
from leasehold.pipelines.agents.view.values import ChildView, ShownFile
from leasehold.redact import Redactor
from leasehold.shapes import Shape

RESULT: Final = "result.json"
DIFF: Final = "diff.patch"
STREAMS: Final = ("stdout", "stderr")
TAIL_BYTES: Final = 8_000  # of a file of evidence
RESULT_BYTES: Final = 100_000
DIFF_BYTES: Final = 200_000
PAGE_BYTES: Final = 8_000_000  # of all texts of files on one page
MANIFEST_BYTES: Final = 100_000


class _Manifest(Struct):
    files: list[EvidenceFile]


_manifest: Final = Shape[_Manifest](_Manifest)


@dataclass(slots=True)
class TextRoom:
    """How many bytes of files a page may still hold."""

    left: int = PAGE_BYTES

    def take(self, most: int) -> int:
        taken = min(most, self.left)
        self.left -= taken
        return taken


@dataclass(frozen=True, slots=True)
class PageFiles:
    """Adds to children what is on disk, as far as the page at `page` has room for it."""

    page: Path
    room: TextRoom

    def added(self, child: ChildView, home: Path, redactor: Redactor) -> ChildView:
        evidence = tuple(read_evidence(home, self.page, self.room))
        diff = read_diff(home, self.page, self.room, redactor)
        found = replace(child, evidence=evidence, diff=diff)
        if (size := _size(home / RESULT)) is None:
            return found
        return replace(
            found, has_output=True, output=clean_value(redactor, read_result(home / RESULT, size, self.room))
        )


def read_evidence(home: Path, page: Path, room: TextRoom) -> Iterator[ShownFile]:
    """Yield what a child printed: the published files, or the drafts that a crash left."""
    listed = {file.name: file for file in _listed(home)}
    for stream in STREAMS:
        name = f"{stream}.txt"
        file = listed.get(name)
        path = home / (name if file is not None else f".{name}.part")
        if (size := _size(path)) is None:
            continue
        kept = room.take(min(size, TAIL_BYTES))
        text = _read(path, size - kept, kept)
        shown = ShownFile(name, link_from(page, path), size, text=text, omitted=size - kept)
        yield shown if file is None else _published(shown, file)


def _published(shown: ShownFile, file: EvidenceFile) -> ShownFile:
    return ShownFile(shown.name, shown.link, shown.size, file.sha256, file.is_truncated, shown.text, shown.omitted)


def read_result(path: Path, size: int, room: TextRoom) -> Any:
    """Return the result of a child; the beginning of its text where it is long."""
    kept = room.take(min(size, RESULT_BYTES))
    text = _read(path, 0, kept)
    if kept < size:
        return f"{text}\n… {size - kept:,} more bytes in {RESULT}"
    try:
        return parse(text)
    except PayloadInvalid:
        return text


def read_diff(home: Path, page: Path, room: TextRoom, redactor: Redactor) -> ShownFile | None:
    path = home / DIFF
    if (size := _size(path)) is None:
        return None
    kept = room.take(min(size, DIFF_BYTES))
    text = clean(redactor, _read(path, 0, kept)) if kept else ""
    return ShownFile(DIFF, link_from(page, path), size, text=text, omitted=size - kept)


def link_from(page: Path, path: Path) -> str:
    """Return how the folder of a page names a file."""
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _listed(home: Path) -> list[EvidenceFile]:
    path = home / MANIFEST
    if (size := _size(path)) is None:
        return []
    try:
        return _manifest.decode(_read(path, 0, min(size, MANIFEST_BYTES)).encode()).files
    except DecodeError:
        return []


def _size(path: Path) -> int | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _read(path: Path, start: int, size: int) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        file.seek(start)
        return file.read(size).decode("utf-8", "replace")
