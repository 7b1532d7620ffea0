"""One file's bytes, from a server into a part or into memory, then published under their hash.

A part is resumed from where the last attempt stopped, if it is still the same file.
"""

import asyncio
import hashlib
from dataclasses import dataclass
from functools import partial

from msgspec import Struct

from leasehold import Cancelled, Released, Task
from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.files.content_store import ContentStore
from leasehold.pipelines.download.files.part import LockedPart, Part, Sidecar, digest_of, is_small
from leasehold.pipelines.download.files.publisher import CompleteFile, Published, Publisher
from leasehold.pipelines.download.files.writer import OnProgress, PartWriter
from leasehold.pipelines.download.http.client import UNSATISFIABLE, Body, Client, Head
from leasehold.pipelines.download.http.response import UnexpectedStatus
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.index.index import Index
from leasehold.pipelines.download.limits import PATIENCE_SECONDS
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_uncancelled
from leasehold.pipelines.download.process.shutdown import ShutdownGuard


class Streamed(Struct, frozen=True):
    """What a whole part holds. `fetched`: how many of its bytes came in the last response."""

    sha256: str
    size: int
    fetched: int
    media_type: str | None
    etag: str | None
    modified: str | None
    url: str


@dataclass(frozen=True, slots=True)
class WorkerResources:
    """What a worker process works with: made once for all its attempts."""

    content_store: ContentStore
    client: Client
    index: Index
    boot: str
    publisher: Publisher
    threads: ThreadPool
    shutdown: ShutdownGuard


class Transfer:
    """What an attempt has of a file. Each step can be asked whether an earlier attempt has done it."""

    def __init__(self, task: Task, artifact: Artifact, tools: WorkerResources) -> None:
        self._task = task
        self._artifact = artifact
        self._tools = tools
        self.part = Part(tools.content_store.part_path(artifact.key), tools.boot)
        self._part_file: LockedPart | None = None
        self._published: Published | None = None
        self._publishing: asyncio.Future[Published] | None = None
        self.losses = 0

    async def stream(self, head: Head) -> Streamed:
        """Fetch the bytes. A small file comes at once: a crash costs no more than requesting it again."""
        tools, url, body = self._tools, self._artifact.url, None
        self._close()
        if is_small(head) and tools.content_store.has_anonymous_files and not self.part.exists:
            body = await tools.client.open(url)
            if is_small(body.head):
                return await self._stream_small(head, body)
        try:
            self._part_file = LockedPart(self.part.path)
        except BaseException:
            if body is not None:
                body.close()
            raise
        args = (tools.client, url, head, self.part, self._part_file, self._on_progress, tools.threads)
        return self._checked(await stream(*args, body))

    async def _stream_small(self, head: Head, body: Body) -> Streamed:
        """Publish a small file before it counts as streamed: then it is not fetched again."""
        streamed, content = await _read_small(body, self._on_progress)
        self._checked(streamed)
        self._tools.shutdown.extend_patience(PATIENCE_SECONDS)
        published = await self._publish(head, streamed, content)
        if published.is_part_missing:
            raise FileNotFoundError(str(self._tools.content_store.staging))
        self._published = published
        return streamed

    async def was_streamed(self, head: Head) -> Streamed | None:
        """Return what the part holds, if it is complete."""
        self._close()
        try:
            self._part_file = LockedPart(self.part.path, make=False)
        except FileNotFoundError:
            return None
        streamed = await _read_complete(head, self.part, self._part_file, self._tools.threads)
        return None if streamed is None else self._checked(streamed)

    def _checked(self, streamed: Streamed) -> Streamed:
        try:
            check(streamed, self._artifact.sha256)
        except BaseException:
            if self._part_file is not None:
                self.part.remove()  # a wrong file is not resumed
            raise
        return streamed

    def _on_progress(self, done: int, total: int | None) -> None:
        self._task.progress(done, total=total)
        if self._task.stopping:
            raise Released("the worker is stopping")  # what is on disk is resumed
        if self._task.cancelled:
            raise Cancelled

    async def publish(self, head: Head, streamed: Streamed) -> Published:
        if self._published is not None:
            return self._published
        # What an earlier attempt has streamed may have lain there for days.
        if self._part_file is None and not await self._reopen(streamed):
            self.losses += 1
            return Published(is_part_missing=True)
        return await self._publish(head, streamed)

    async def was_published(self, head: Head, streamed: Streamed) -> Published | None:
        """Return where the file lies, and have it named, if it was published."""
        if self.part.exists:
            return None
        published = await self._publish(head, streamed)
        return None if published.is_part_missing else published

    async def _publish(self, head: Head, streamed: Streamed, content: bytes | None = None) -> Published:
        artifact = self._artifact
        name = artifact.filename or head.filename or name_of(streamed.url) or name_of(artifact.url)
        ready = CompleteFile(self.part, self._part_file, streamed.sha256, artifact, name, content)
        self._publishing = self._tools.publisher.publish(ready)
        return await self._publishing

    async def _reopen(self, streamed: Streamed) -> bool:
        """Open a part that an earlier attempt has streamed; whether it holds that, or was published."""
        try:
            self._part_file = LockedPart(self.part.path, make=False)
        except FileNotFoundError:
            return True
        if (size := self._part_file.size) == streamed.size:
            # Ends if the file is closed.
            digest = await self._tools.threads.do(partial(digest_of, self._part_file, size))
            if digest.hexdigest() == streamed.sha256:
                return True
        self.part.remove()
        self._close()
        return False

    async def close(self) -> None:
        """Wait for the publisher, which may be using the part, and close the part."""
        try:
            await wait_uncancelled(self._publishing)
        finally:
            self._close()

    def _close(self) -> None:
        part_file, self._part_file = self._part_file, None
        if part_file is not None:
            part_file.close()


async def stream(
    client: Client,
    url: str,
    head: Head,
    part: Part,
    part_file: LockedPart,
    on_progress: OnProgress,
    threads: ThreadPool,
    body: Body | None = None,
) -> Streamed:
    """Fetch what is missing of a part and return what it holds then. `body`: the response, if it is here already."""
    sidecar, digest = None, hashlib.sha256()
    if body is None:
        if (found := await _read_complete(head, part, part_file, threads)) is not None:
            return found
        sidecar, start = _resumable(head, part, part_file)
        digest = await threads.do(partial(digest_of, part_file, start)) if start else digest
        if (body := await _request_rest(client, url, start, sidecar)) is None:
            return _streamed(head, digest.hexdigest(), start, 0)
    try:
        part_file.begin(body.start)
        if body.start == 0:
            digest = hashlib.sha256()
            part.begin(body.head)  # not before the bytes of another file are gone
        writer = PartWriter(part, part_file, body, sidecar, digest, on_progress, threads)
        sha256 = await writer.copy_body()
        streamed = _streamed(body.head, sha256, writer.size, writer.size - body.start)
        if body.head.length is None and _is_short(streamed, body.head, head):  # by a HEAD that may be of long ago
            now = await client.head(url)
            if _is_short(streamed, body.head, now):  # it ended with its connection, and was not whole
                message = f"{streamed.url} ended after {streamed.size:,} of {now.length:,} bytes"
                raise Transient(message, error_class="NETWORK_RESET")
        return streamed
    finally:
        body.close()


def _resumable(head: Head, part: Part, part_file: LockedPart) -> tuple[Sidecar | None, int]:
    """Return the sidecar of a part that is locked, and how many of its bytes count."""
    sidecar, start = part.read(head) if part_file.size else (None, 0)
    return sidecar, min(start, part_file.size)


async def _read_complete(head: Head, part: Part, part_file: LockedPart, threads: ThreadPool) -> Streamed | None:
    """Return what a part holds, if that is all of the file that a head describes."""
    sidecar, size = _resumable(head, part, part_file)
    if sidecar is None or not size or not size == sidecar.length == head.length or sidecar.validator != head.validator:
        return None
    digest = await threads.do(partial(digest_of, part_file, size))
    return _streamed(head, digest.hexdigest(), size, 0)


async def _read_small(body: Body, on_progress: OnProgress) -> tuple[Streamed, bytes]:
    content = bytearray()

    def tick() -> bool:
        on_progress(len(content), body.head.length)
        return False

    try:
        await body.copy_in(content.extend, tick)
    finally:
        body.close()
    size = len(content)
    return _streamed(body.head, hashlib.sha256(content).hexdigest(), size, size), bytes(content)


async def _request_rest(client: Client, url: str, start: int, sidecar: Sidecar | None) -> Body | None:
    """Request what is missing, if the part is of the same file; else all of it. None: nothing is missing."""
    if not start or sidecar is None:
        return await client.open(url)
    try:
        body = await client.open(url, start, sidecar.validator)
    except UnexpectedStatus as refusal:
        if refusal.response.status_code != UNSATISFIABLE:
            raise
        if start == sidecar.length and refusal.response.headers.get("content-range", "").strip() == f"bytes */{start}":
            return None  # the same file, or all of another would have come
        return await client.open(url)  # it has changed its length since
    if body.start and _is_rest_of_other(body.head, sidecar):
        body.close()
        return await client.open(url)  # from a server that ignores If-Range
    return body


def _is_rest_of_other(found: Head, sidecar: Sidecar) -> bool:
    """Whether a partial response is of another file than the sidecar; it need not state everything."""
    stated = found.etag if sidecar.validator and sidecar.validator.startswith('"') else found.modified
    return _differ(stated, sidecar.validator) or _differ(found.length, sidecar.length)


def _is_short(streamed: Streamed, found: Head, wanted: Head) -> bool:
    """Whether HEAD has stated another length for the same file. A partial response need not state everything."""
    tags = (found.etag, wanted.etag) if found.etag and wanted.etag else (found.modified, wanted.modified)
    is_other = _differ(*tags) or _differ(found.length, wanted.length)
    return _differ(streamed.size, wanted.length) and not is_other


def _differ(found: object, wanted: object) -> bool:
    return None not in (found, wanted) and found != wanted


def _streamed(head: Head, sha256: str, size: int, fetched: int) -> Streamed:
    return Streamed(sha256, size, fetched, head.media_type, head.etag, head.modified, head.url)


def check(streamed: Streamed, sha256: str | None) -> None:
    """Refuse a file whose content is not the one that was wanted. One that was resumed is tried once more."""
    if sha256 is not None and streamed.sha256 != sha256:
        kind = Permanent if streamed.fetched == streamed.size else Transient
        message = f"{streamed.url} has the sha256 {streamed.sha256}; expected {sha256}"
        raise kind(message, error_class="HASH_MISMATCH")
