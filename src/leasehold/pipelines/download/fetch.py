"""One file's bytes, from a server into its part: from where the last attempt stopped, if it is still the same file.

Beside a part lies what it was fetched with: the validator and length of then, and how far its bytes were synced. After
a crash of the process all that was written counts, since the kernel has it; after a crash of the machine only what was
synced does.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.files.background_hash import BackgroundHash
from leasehold.pipelines.download.files.part_file import LockedPart, hashed
from leasehold.pipelines.download.http.client import UNSATISFIABLE, Body, Client, Head
from leasehold.pipelines.download.http.response import UnexpectedStatus
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_ignoring_errors, wait_uncancelled

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


class Streamed(Struct, frozen=True):
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

    def __init__(self, place: str | Path, boot: str) -> None:
        self._place = place  # of most files nothing but this is ever needed
        self._boot = boot

    @cached_property
    def path(self) -> Path:
        """Where the part is."""
        return Path(self._place)

    @cached_property
    def _note(self) -> Path:
        return self.path.with_suffix(".json")

    @property
    def is_there(self) -> bool:
        """Whether an attempt has left one."""
        return os.path.exists(self._place)  # noqa: PTH110

    def reach(self, head: Head) -> int:
        """Return how many bytes of the file that a head tells of can be built on."""
        note, size = self.known(head)
        same = note is not None and (note.validator, note.length) == (head.validator, head.length)
        return size if same else 0

    def known(self, head: Head) -> tuple[Note | None, int]:
        """Return what the part was fetched with, and how many of its bytes are certain to be there."""
        try:
            size = os.stat(self._place).st_size  # noqa: PTH116 — asked for every file, and most have no part
        except FileNotFoundError:
            return None, 0
        note = self._read()
        if note is None or note.validator is None or not _is_same_place(note.url, head):
            return None, 0
        return note, size if note.boot == self._boot and self._boot else min(size, note.synced)

    def write(self, note: Note) -> None:
        """Put down what the part is fetched with, whole or not at all."""
        unfinished = self._note.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(note)), encoding="utf-8")
        unfinished.replace(self._note)

    def note(self, head: Head, synced: int) -> Note:
        return Note(head.url, head.validator, head.length, synced, self._boot)

    def renewed(self, note: Note, synced: int) -> Note:
        """Return a note that tells of more bytes."""
        return replace(note, synced=synced, boot=self._boot)

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


def is_small(head: Head) -> bool:
    """Whether a file is known to be so small that it is taken in at once."""
    return head.length is not None and head.length < NOTED_BYTES


async def whole(head: Head, part: Part, draft: LockedPart, hands: ThreadPool) -> Streamed | None:
    """Return what a part holds, if it holds all of the file that a head tells of."""
    note, start = part.known(head) if draft.size else (None, 0)
    start = min(start, draft.size)
    if note is None or not start or (start, note.validator) != (head.length, head.validator) or start != note.length:
        return None
    digest = await hands.do(partial(hashed, draft, start))
    return _streamed(head, digest.hexdigest(), start, 0)


async def stream(
    client: Client,
    url: str,
    head: Head,
    part: Part,
    draft: LockedPart,
    tell: Told,
    hands: ThreadPool,
    body: Body | None = None,
) -> Streamed:
    """Fetch what is missing of a part and return what it holds then. `body`: the answer, if that is here already."""
    note, digest = None, hashlib.sha256()
    if body is None:
        if (found := await whole(head, part, draft, hands)) is not None:
            return found
        note, start = part.known(head) if draft.size else (None, 0)
        start = min(start, draft.size)
        digest = await hands.do(partial(hashed, draft, start)) if start else digest
        body = await _opened(client, url, start, note)
        if body is None:
            return _streamed(head, digest.hexdigest(), start, 0)
    try:
        if body.start == 0:
            digest = hashlib.sha256()
        draft.begin(body.start)
        if body.start == 0:
            part.begin(body.head)  # not before the bytes of another file are gone
        trail = BackgroundHash(draft, digest, body.start, hands)
        streamed = await _poured(body, PartWriter(draft, trail, body, part, note, tell, hands), trail)
        if body.head.length is None and _is_short(streamed, body.head, head):  # by a HEAD that may be of long ago
            _check_end(streamed, body.head, await client.head(url))
        return streamed
    finally:
        body.close()


async def gather(body: Body, tell: Told) -> tuple[Streamed, bytes]:
    """Take in a small body whole."""
    content = bytearray()

    def tick() -> bool:
        tell(len(content), body.head.length)
        return False

    try:
        await body.copy_in(content.extend, tick)
    finally:
        body.close()
    size = len(content)
    return _streamed(body.head, hashlib.sha256(content).hexdigest(), size, size), bytes(content)


async def _poured(body: Body, pen: PartWriter, trail: BackgroundHash) -> Streamed:
    """Take in a body; nothing of it is under way on a thread when this ends."""
    try:
        await body.copy_in(pen.write, pen.tick)
        sha256 = await trail.end()
        await pen.end()
    finally:
        try:
            await pen.rest()
        finally:
            await trail.give_up()
    return _streamed(body.head, sha256, pen.size, pen.size - body.start)


async def _opened(client: Client, url: str, start: int, note: Note | None) -> Body | None:
    """Ask for what is missing, if it is of the file that the part is of; else for all of it. None: nothing is."""
    if not start or note is None:
        return await client.open(url)
    try:
        body = await client.open(url, start, note.validator)
    except UnexpectedStatus as refusal:
        if refusal.response.status_code != UNSATISFIABLE:
            raise
        if start == note.length and refusal.response.headers.get("content-range", "").strip() == f"bytes */{start}":
            return None  # the same file, or all of another would have come
        return await client.open(url)  # it has changed its length since
    if body.start and _is_rest_of_other(body.head, note):
        body.close()
        return await client.open(url)  # from a server that does not heed If-Range
    return body


def _is_rest_of_other(found: Head, note: Note) -> bool:
    """Whether an answer with a part tells of another file than the note; it need not tell everything."""
    told = found.etag if note.validator and note.validator.startswith('"') else found.modified
    return (told is not None and told != note.validator) or (
        None not in (found.length, note.length) and found.length != note.length
    )


def _is_other(found: Head, wanted: Head) -> bool:
    """Whether an answer tells of another file than was asked for. An answer with a part need not tell everything."""
    tags = (found.etag, wanted.etag) if found.etag and wanted.etag else (found.modified, wanted.modified)
    return any(None not in pair and pair[0] != pair[1] for pair in (tags, (found.length, wanted.length)))


def _is_short(streamed: Streamed, found: Head, wanted: Head) -> bool:
    """Whether HEAD has told another length of the same file."""
    return wanted.length is not None and streamed.size != wanted.length and not _is_other(found, wanted)


def _check_end(streamed: Streamed, found: Head, wanted: Head) -> None:
    """See that a body that ended with its connection was whole, by what HEAD says of the same file."""
    if _is_short(streamed, found, wanted):
        said = f"{streamed.url} ended after {streamed.size:,} of {wanted.length:,} bytes"
        raise Transient(said, error_class="NETWORK_RESET")


class PartWriter:
    """Writes what comes and has it hashed and, from time to time, synced.

    Where a sync takes longer than it takes to fetch as much again, nothing more is taken in meanwhile.
    """

    def __init__(
        self,
        draft: LockedPart,
        trail: BackgroundHash,
        body: Body,
        part: Part,
        note: Note | None,
        tell: Told,
        hands: ThreadPool,
    ) -> None:
        # The rest of a file need not be sent with everything that was told of the whole.
        self._note = part.note(body.head, 0) if note is None or body.start == 0 else note
        self.size = self._begun = body.start
        self._draft = draft
        self._trail = trail
        self._body = body
        self._part = part
        self._tell = tell
        self._hands = hands
        self._syncing: asyncio.Task[None] | None = None
        self._is_paused = False

    def write(self, view: memoryview) -> None:
        """Take in bytes."""
        self._draft.write(view)
        self.size += len(view)
        self._trail.add(view)
        if self.size - self._begun < SYNC_BYTES:
            return
        if self._syncing is None:
            self._begun = self.size
            self._syncing = asyncio.get_running_loop().create_task(self._sync())
        elif not self._is_paused:
            self._is_paused = True
            self._body.pause()

    async def _sync(self) -> None:
        size = self._begun
        try:
            await self._hands.do(self._draft.sync)
        except OSError:
            self._part.forget()  # the kernel tells of it once: the next sync would say nothing
            raise
        self._part.write(self._part.renewed(self._note, size))
        self._syncing = None
        if self._is_paused:
            self._is_paused = False
            self._body.resume()

    def tick(self) -> bool:
        """Tell how far it has come, and whether it is this disk that is slow."""
        if self._syncing is not None and self._syncing.done():
            self._syncing.result()  # it failed
        self._trail.check()
        self._tell(self.size, self._body.head.length)
        return self._is_paused

    async def end(self) -> None:
        """Wait for a sync that is under way, and raise what went wrong with it."""
        if (syncing := self._syncing) is not None:
            await wait_uncancelled(syncing)
            syncing.result()

    async def rest(self) -> None:
        """Wait for a sync that is under way, whoever wants this to end: its file must not be closed before."""
        await wait_ignoring_errors(self._syncing)


def _streamed(head: Head, sha256: str, size: int, fetched: int) -> Streamed:
    return Streamed(sha256, size, fetched, head.media_type, head.etag, head.modified, head.url)


def check(streamed: Streamed, sha256: str | None) -> None:
    """Refuse a file whose content is not the one that was wanted. One that was built on a part deserves a fresh try."""
    if sha256 is not None and streamed.sha256 != sha256:
        kind = Permanent if streamed.fetched == streamed.size else Transient
        said = f"{streamed.url} has the sha256 {streamed.sha256}, and {sha256} was wanted"
        raise kind(said, error_class="HASH_MISMATCH")
