"""One file's bytes, from a server into its part: from where the last attempt stopped, if it is still the same file."""

import hashlib
from functools import partial

from msgspec import Struct

from leasehold.errors import Permanent, Transient
from leasehold.pipelines.download.files.background_hash import BackgroundHash
from leasehold.pipelines.download.files.part import Part, Sidecar
from leasehold.pipelines.download.files.part_file import LockedPart, hashed
from leasehold.pipelines.download.files.writer import OnProgress, PartWriter
from leasehold.pipelines.download.http.client import UNSATISFIABLE, Body, Client, Head
from leasehold.pipelines.download.http.response import UnexpectedStatus
from leasehold.pipelines.download.process.concurrency import ThreadPool


class Streamed(Struct, frozen=True):
    """What a whole part holds. `fetched`: how many of its bytes came in the last response."""

    sha256: str
    size: int
    fetched: int
    media_type: str | None
    etag: str | None
    modified: str | None
    url: str


async def whole_part(head: Head, part: Part, part_file: LockedPart, threads: ThreadPool) -> Streamed | None:
    sidecar, start = part.read(head) if part_file.size else (None, 0)
    start = min(start, part_file.size)
    if (
        sidecar is None
        or not start
        or (start, sidecar.validator) != (head.length, head.validator)
        or start != sidecar.length
    ):
        return None
    digest = await threads.do(partial(hashed, part_file, start))
    return _streamed(head, digest.hexdigest(), start, 0)


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
        if (found := await whole_part(head, part, part_file, threads)) is not None:
            return found
        sidecar, start = part.read(head) if part_file.size else (None, 0)
        start = min(start, part_file.size)
        digest = await threads.do(partial(hashed, part_file, start)) if start else digest
        body = await _opened(client, url, start, sidecar)
        if body is None:
            return _streamed(head, digest.hexdigest(), start, 0)
    try:
        if body.start == 0:
            digest = hashlib.sha256()
        part_file.begin(body.start)
        if body.start == 0:
            part.begin(body.head)  # not before the bytes of another file are gone
        background = BackgroundHash(part_file, digest, body.start, threads)
        streamed = await _copied(
            body, PartWriter(part_file, background, body, part, sidecar, on_progress, threads), background
        )
        if body.head.length is None and _is_short(streamed, body.head, head):  # by a HEAD that may be of long ago
            _check_end(streamed, body.head, await client.head(url))
        return streamed
    finally:
        body.close()


async def read_small(body: Body, on_progress: OnProgress) -> tuple[Streamed, bytes]:
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


async def _copied(body: Body, writer: PartWriter, background: BackgroundHash) -> Streamed:
    """Write a body; no thread works on it when this ends."""
    try:
        await body.copy_in(writer.write, writer.tick)
        sha256 = await background.end()
        await writer.end()
    finally:
        try:
            await writer.wait()
        finally:
            await background.give_up()
    return _streamed(body.head, sha256, writer.size, writer.size - body.start)


async def _opened(client: Client, url: str, start: int, sidecar: Sidecar | None) -> Body | None:
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
    return (stated is not None and stated != sidecar.validator) or (
        None not in (found.length, sidecar.length) and found.length != sidecar.length
    )


def _is_other(found: Head, wanted: Head) -> bool:
    """Whether a response is of another file than was requested. A partial response need not state everything."""
    tags = (found.etag, wanted.etag) if found.etag and wanted.etag else (found.modified, wanted.modified)
    return any(None not in pair and pair[0] != pair[1] for pair in (tags, (found.length, wanted.length)))


def _is_short(streamed: Streamed, found: Head, wanted: Head) -> bool:
    """Whether HEAD has stated another length for the same file."""
    return wanted.length is not None and streamed.size != wanted.length and not _is_other(found, wanted)


def _check_end(streamed: Streamed, found: Head, wanted: Head) -> None:
    """See that a body that ended with its connection was whole, by the length that HEAD states."""
    if _is_short(streamed, found, wanted):
        message = f"{streamed.url} ended after {streamed.size:,} of {wanted.length:,} bytes"
        raise Transient(message, error_class="NETWORK_RESET")


def _streamed(head: Head, sha256: str, size: int, fetched: int) -> Streamed:
    return Streamed(sha256, size, fetched, head.media_type, head.etag, head.modified, head.url)


def check(streamed: Streamed, sha256: str | None) -> None:
    """Refuse a file whose content is not the one that was wanted. One that was resumed is tried once more."""
    if sha256 is not None and streamed.sha256 != sha256:
        kind = Permanent if streamed.fetched == streamed.size else Transient
        message = f"{streamed.url} has the sha256 {streamed.sha256}; expected {sha256}"
        raise kind(message, error_class="HASH_MISMATCH")
