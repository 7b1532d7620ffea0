"""One file's bytes, from a server into its part: from where the last attempt stopped, if it is still the same file.

Beside a part lies what it was fetched with: the validator and length of then, and how far its bytes were synced. After
a crash of the process all that was written counts, since the kernel has it; after a crash of the machine only what was
synced does.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.batching import Hands
from leasehold.pipelines.download.client import UNSATISFIABLE, Answered, Body, Client, Head
from leasehold.pipelines.download.places import BLOCK_BYTES

SYNC_BYTES: Final = 64 * 1024 * 1024
NOTED_BYTES: Final = 64 * 1024  # fewer are not worth a note
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

    def begin(self, head: Head) -> None:
        """Put down what the part is fetched with, if it is large enough to be built on."""
        if head.length is None or head.length >= NOTED_BYTES:
            self.write(self.note(head, 0))
        else:
            self._note.unlink(missing_ok=True)

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


async def stream(client: Client, url: str, head: Head, part: Part, tell: Told, hands: Hands) -> Streamed:
    """Fetch what is missing of a part and return what it holds then."""
    start = part.reach(head)
    if start and start == head.length:
        digest = await hands.do(partial(_hashed, part.path, start))
        return _streamed(head, digest.hexdigest(), start, 0)
    try:
        body = await client.open(url, start, head.validator)
    except Answered as answer:
        if answer.response.status_code != UNSATISFIABLE or not start:
            raise
        body = await client.open(url)  # it has changed its length since: from the start
    if body.start and _is_other(body.head, head):
        body.close()
        body = await client.open(url)  # the rest of another file, from a server that does not heed If-Range
    try:
        streamed = await _take(body, part, tell, hands)
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


async def _take(body: Body, part: Part, tell: Told, hands: Hands) -> Streamed:
    """Have a body written to its part, from where it begins."""
    digest = await hands.do(partial(_hashed, part.path, body.start)) if body.start else hashlib.sha256()
    descriptor = _opened(part.path)
    try:
        os.ftruncate(descriptor, body.start)
        if body.start == 0:
            part.begin(body.head)  # not before the bytes of another file are gone
        os.lseek(descriptor, body.start, os.SEEK_SET)
        pen = Pen(descriptor, digest, body, part, tell, hands)
        try:
            await body.pour(pen.write, pen.tick)
        finally:
            await pen.rest()
    finally:
        os.close(descriptor)
    return _streamed(body.head, digest.hexdigest(), pen.size, pen.size - body.start)


class Pen:
    """Writes and hashes what comes; from time to time it is synced, and nothing is taken in meanwhile."""

    def __init__(self, descriptor: int, digest: Any, body: Body, part: Part, tell: Told, hands: Hands) -> None:
        self.size = self._synced = body.start
        self._descriptor = descriptor
        self._digest = digest
        self._body = body
        self._part = part
        self._tell = tell
        self._hands = hands
        self._syncing: asyncio.Task[None] | None = None

    def write(self, view: memoryview) -> None:
        """Take in bytes."""
        left = view
        while left:
            left = left[os.write(self._descriptor, left) :]
        self._digest.update(view)
        self.size += len(view)
        if self.size - self._synced >= SYNC_BYTES and self._syncing is None:
            self._body.pause()
            self._syncing = asyncio.get_running_loop().create_task(self._sync())

    async def _sync(self) -> None:
        size = self.size
        await self._hands.do(partial(os.fdatasync, self._descriptor))
        self._part.write(self._part.note(self._body.head, size))
        self._synced, self._syncing = size, None
        self._body.go_on()

    def tick(self) -> bool:
        """Tell how far it has come, and whether it is this disk that is slow."""
        if self._syncing is not None and self._syncing.done():
            self._syncing.result()  # it failed
        self._tell(self.size, self._body.head.length)
        return self._syncing is not None

    async def rest(self) -> None:
        """Wait for a sync that is under way."""
        if self._syncing is not None:
            await self._syncing


def _opened(path: Path) -> int:
    """Open a part that nobody else writes to: an attempt that has lost its lease may not have noticed yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Transient(f"{path.name} is still being written by an attempt before", error_class="CONFLICT") from None
    return descriptor


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


def _streamed(head: Head, sha256: str, size: int, fetched: int) -> Streamed:
    return Streamed(sha256, size, fetched, head.media_type, head.etag, head.modified, head.url)


def check(streamed: Streamed, sha256: str | None) -> None:
    """Refuse a file whose content is not the one that was wanted. One that was built on a part deserves a fresh try."""
    if sha256 is not None and streamed.sha256 != sha256:
        kind = Permanent if streamed.fetched == streamed.size else Transient
        said = f"{streamed.url} has the sha256 {streamed.sha256}, and {sha256} was wanted"
        raise kind(said, error_class="HASH_MISMATCH")
