"""One file's bytes, from a server into its part: from where the last attempt stopped, if it is still the same file.

Beside a part lies what it was fetched with: the validator and length of then, and how far its bytes were synced. After
a crash of the process all that was written counts, since the kernel has it; after a crash of the machine only what was
synced does.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.client import UNSATISFIABLE, Answered, Body, Client, Head
from leasehold.pipelines.download.places import BLOCK_BYTES

SYNC_BYTES: Final = 64 * 1024 * 1024
TOLD_SECONDS: Final = 0.5
Told = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Note:
    """What a part was fetched with."""

    url: str
    validator: str | None
    length: int | None
    synced: int
    boot: str


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a whole part holds. `fetched`: how many of its bytes came in the last answer."""

    sha256: str
    size: int
    fetched: int
    media_type: str | None
    etag: str | None
    modified: str | None
    url: str


class Part:
    """A part and its note."""

    def __init__(self, path: Path, boot: str) -> None:
        self.path = path
        self._note = path.with_suffix(".json")
        self._boot = boot

    def reach(self, head: Head) -> int:
        """Return how many bytes can be built on: those of the same file, as far as they are certain to be there."""
        note = self._read()
        if note is None or note.validator is None or not _is_same_place(note.url, head):
            return 0
        if (note.validator, note.length) != (head.validator, head.length):
            return 0
        size = self.path.stat().st_size if self.path.exists() else 0
        return size if note.boot == self._boot and self._boot else min(size, note.synced)

    def write(self, note: Note) -> None:
        """Put down what the part is fetched with, whole or not at all."""
        unfinished = self._note.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(note)), encoding="utf-8")
        unfinished.replace(self._note)

    def note(self, head: Head, synced: int) -> Note:
        return Note(head.url, head.validator, head.length, synced, self._boot)

    def forget(self) -> None:
        """Take away part and note."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def _read(self) -> Note | None:
        try:
            fields: dict[str, Any] = json.loads(self._note.read_text(encoding="utf-8"))
            return Note(**fields)
        except (OSError, ValueError, TypeError):
            return None  # none, or torn: the part is of no use


def _is_same_place(url: str, head: Head) -> bool:
    """Whether a file lies where it lay. A place that is signed anew each time has another query; then a tag decides."""
    return url == head.url or (head.etag is not None and url.partition("?")[0] == head.url.partition("?")[0])


def stream(client: Client, url: str, head: Head, part: Part, tell: Told) -> Streamed:
    """Fetch what is missing of a part and return what it holds then."""
    start = part.reach(head)
    if start and start == head.length:
        return _whole(part, head, start, 0)
    try:
        body = client.open(url, start, head.validator)
    except Answered as answer:
        if answer.response.status_code != UNSATISFIABLE or not start:
            raise
        body = client.open(url)  # it has changed its length since: from the start
    if body.start and _is_other(body.head, head):
        body.close()
        body = client.open(url)  # the rest of another file, from a server that does not heed If-Range
    try:
        streamed = _take(body, part, tell)
        if not body.tells_its_end:
            _check_end(streamed, body.head, head)
        return streamed
    finally:
        body.close()


def _is_other(found: Head, wanted: Head) -> bool:
    """Whether an answer tells of another file than was asked for. An answer with a part need not tell everything."""
    tags = (found.etag, wanted.etag) if found.etag and wanted.etag else (found.modified, wanted.modified)
    return any(None not in pair and pair[0] != pair[1] for pair in (tags, (found.length, wanted.length)))


def _check_end(streamed: Streamed, found: Head, wanted: Head) -> None:
    """See that a body that ended with its connection was whole, by what HEAD has said of the same file."""
    if wanted.length is not None and streamed.size != wanted.length and not _is_other(found, wanted):
        said = f"{streamed.url} ended after {streamed.size:,} of {wanted.length:,} bytes"
        raise Transient(said, error_class="NETWORK_RESET")


def _take(body: Body, part: Part, tell: Told) -> Streamed:
    head, size = body.head, body.start
    digest = _hashed(part.path, size)
    descriptor = os.open(part.path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.ftruncate(descriptor, size)
        if size == 0:
            part.write(part.note(head, 0))  # not before the bytes of another file are gone
        os.lseek(descriptor, size, os.SEEK_SET)
        synced, told_at = size, 0.0
        for block in body.blocks():
            _write(descriptor, block)
            digest.update(block)
            size += len(block)
            if size - synced >= SYNC_BYTES:
                os.fdatasync(descriptor)
                synced = size
                part.write(part.note(head, synced))
            if time.monotonic() - told_at >= TOLD_SECONDS:
                tell(size, head.length)
                told_at = time.monotonic()
    finally:
        os.close(descriptor)
    return _streamed(head, digest.hexdigest(), size, size - body.start)


def _write(descriptor: int, block: bytes) -> None:
    left = memoryview(block)
    while left:
        left = left[os.write(descriptor, left) :]


def _hashed(path: Path, size: int) -> Any:
    """Return a digest over the bytes that are there already."""
    digest = hashlib.sha256()
    if size:
        left = size
        with path.open("rb", buffering=0) as file:
            while left and (block := file.read(min(BLOCK_BYTES, left))):
                digest.update(block)
                left -= len(block)
    return digest


def _whole(part: Part, head: Head, size: int, fetched: int) -> Streamed:
    return _streamed(head, _hashed(part.path, size).hexdigest(), size, fetched)


def _streamed(head: Head, sha256: str, size: int, fetched: int) -> Streamed:
    return Streamed(sha256, size, fetched, head.media_type, head.etag, head.modified, head.url)


def check(streamed: Streamed, sha256: str | None) -> None:
    """Refuse a file whose content is not the one that was wanted. One that was built on a part deserves a fresh try."""
    if sha256 is not None and streamed.sha256 != sha256:
        kind = Permanent if streamed.fetched == streamed.size else Transient
        said = f"{streamed.url} has the sha256 {streamed.sha256}, and {sha256} was wanted"
        raise kind(said, error_class="HASH_MISMATCH")
