"""One artifact, from address to file: the handler.

Every step is an effect that is safe to repeat, and one of which nobody knows whether it was done is looked up first (is
the file there, with that hash?), so that a crash at any point repeats nothing that counts.

    LEASED             the hash that was wanted is here already → SKIPPED_DUPLICATE
    HEAD               what the server says of the file
    RESUME_OK          an earlier job has left a part of the same file: it is built on
    STREAM             its bytes, hashed as they come, checked against what was wanted
    FINALIZE           synced and linked under its hash, with a name for people
    INDEX or DEDUPE    written to the index; DEDUPE if another artifact brought the same content before
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import asdict

from leasehold import Cancelled, Released, Task, Transient
from leasehold.pipelines.download import states
from leasehold.pipelines.download.fetch import Part, Streamed, check, gather, is_small, stream, whole
from leasehold.pipelines.download.files.content_store import ContentStore
from leasehold.pipelines.download.files.part_file import LockedPart, hashed
from leasehold.pipelines.download.files.publisher import Finisher, Ready
from leasehold.pipelines.download.http.client import Body, Client, Head
from leasehold.pipelines.download.http.urls import host_of, name_of
from leasehold.pipelines.download.idempotency import op_key
from leasehold.pipelines.download.index.index import Index, Row
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.process.concurrency import ThreadPool, wait_uncancelled
from leasehold.pipelines.download.process.shutdown import ShutdownGuard

LOSSES_MAX = 5
PATIENCE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Tools:
    """What a worker process works with."""

    places: ContentStore
    client: Client
    index: Index
    boot: str
    finisher: Finisher
    hands: ThreadPool
    waiters: ShutdownGuard


class Work:
    """The steps of one attempt."""

    def __init__(self, task: Task, artifact: Artifact, tools: Tools) -> None:
        self._task = task
        self._artifact = artifact
        self._tools = tools
        self._key = artifact.key
        self._part = Part(tools.places.part_place(self._key), tools.boot)
        self._draft: LockedPart | None = None
        self._kept: dict[str, Any] | None = None
        self._asked: list[Awaitable[None]] = []
        self._losses = 0
        self._finishing: asyncio.Future[dict[str, Any]] | None = None

    async def run(self) -> dict[str, Any]:
        """Have the file on disk and in the index; return what it is."""
        try:
            found = await self._steps()
        except FileNotFoundError as error:  # of this folder: no server says so
            raise Transient(f"a file was taken away meanwhile: {error}", error_class="CONFLICT") from error
        finally:
            try:
                await wait_uncancelled(self._finishing)  # it has the part in hand
            finally:
                self._close()
        return found

    async def _steps(self) -> dict[str, Any]:
        self._advance(states.LEASED)
        if await self._is_here():
            self._advance(states.SKIPPED_DUPLICATE)
            return {"state": states.SKIPPED_DUPLICATE, "sha256": self._artifact.sha256}
        with self._tools.waiters.among(self._task):
            head, reach = await self._head()
        self._advance(states.HEAD_DONE)
        if reach:
            self._advance(states.RESUME_OK)
        self._advance(states.STREAMING)
        streamed, kept = await self._fetch(head)
        self._advance(states.FINALIZED)
        state = await self._enter("INDEX" if kept["is_new"] else "DEDUPE", streamed, kept["name"])
        self._advance(state)
        return {"state": state, "sha256": streamed.sha256, "bytes": streamed.size, "path": kept["name"]}

    def _advance(self, state: str) -> None:
        """Move on. Moves are made in order, each with the next step, which looks at them first."""
        self._asked.append(self._task.advance(state))

    async def _is_here(self) -> bool:
        """Whether the content that was asked for by its hash is on disk and in the index under this key already."""
        wanted = self._artifact.sha256
        if wanted is None:
            return False

        def act() -> dict[str, bool]:
            return {"here": self._known(wanted)}

        found: dict[str, Any] = await self._effect("LOOK", self._apart(act), sha256=wanted)
        return bool(found["here"])

    def _known(self, sha256: str) -> bool:
        return self._tools.places.has(sha256) and self._tools.index.state_of(self._key) is not None

    async def _head(self) -> tuple[Head, int]:
        """Ask what the file is like, and see how much of it an earlier job has left."""

        async def act() -> dict[str, Any]:
            head = await self._tools.client.head(self._artifact.url)
            return {"reach": self._part.reach(head), **asdict(head)}

        found: dict[str, Any] = await self._effect("HEAD", act)
        reach = int(found.pop("reach"))
        return Head(**found), reach

    async def _fetch(self, head: Head) -> tuple[Streamed, dict[str, Any]]:
        """Stream and finalize; where somebody took the part away in between, once more."""
        effort = 0  # those of earlier attempts are on record
        while self._losses < LOSSES_MAX:
            fields = {"effort": effort} if effort else {}
            with self._tools.waiters.among(self._task):
                act, look = partial(self._stream, head), partial(self._was_streamed, head)
                streamed = Streamed(**await self._effect("STREAM", act, look, range_start=0, **fields))
            with self._tools.waiters.among(self._task, patience=PATIENCE_SECONDS):
                finalize, look = partial(self._keep, head, streamed), partial(self._was_kept, head, streamed)
                kept: dict[str, Any] = await self._effect("FINALIZE", finalize, look, sha256=streamed.sha256, **fields)
            if not kept.get("gone"):
                return streamed, kept
            effort += 1
        raise FileNotFoundError(f"the part of {self._artifact.url}, {LOSSES_MAX} times")

    async def _stream(self, head: Head) -> dict[str, Any]:
        tools = self._tools
        self._close()
        body = await tools.client.open(self._artifact.url) if self._is_small(head) else None
        if body is not None and is_small(body.head):
            return await self._stream_at_once(head, body)
        try:
            self._draft = LockedPart(self._part.path)
        except BaseException:
            if body is not None:
                body.close()
            raise
        args = (tools.client, self._artifact.url, head, self._part, self._draft, self._tell, tools.hands)
        return self._checked(await stream(*args, body))

    def _is_small(self, head: Head) -> bool:
        """Whether a file needs no part: it comes at once, and a crash costs no more than asking for it again."""
        return is_small(head) and self._tools.places.takes_loose and not self._part.is_there

    async def _stream_at_once(self, head: Head, body: Body) -> dict[str, Any]:
        """Have a small file whole before it counts as streamed: then it is not fetched again."""
        streamed, content = await gather(body, self._tell)
        found = self._checked(streamed)
        self._tools.waiters.be_patient(PATIENCE_SECONDS)
        kept = await self._finish(head, streamed, content)
        if kept.get("gone"):
            raise FileNotFoundError(str(self._tools.places.staging))
        self._kept = kept
        return found

    async def _was_streamed(self, head: Head) -> dict[str, Any] | None:
        """Tell what the part holds if it is whole."""
        self._close()
        try:
            self._draft = LockedPart(self._part.path, make=False)
        except FileNotFoundError:
            return None
        streamed = await whole(head, self._part, self._draft, self._tools.hands)
        return None if streamed is None else self._checked(streamed)

    def _checked(self, streamed: Streamed) -> dict[str, Any]:
        try:
            check(streamed, self._artifact.sha256)
        except BaseException:
            if self._draft is not None:
                self._part.forget()  # a wrong file is not built on
            raise
        return asdict(streamed)

    def _tell(self, done: int, total: int | None) -> None:
        self._task.progress(done, total=total)
        if self._task.stopping:
            raise Released("the worker is stopping")  # what is on disk is built on
        if self._task.cancelled:
            raise Cancelled

    async def _keep(self, head: Head, streamed: Streamed) -> dict[str, Any]:
        """Make the part whole."""
        if self._kept is not None:
            return self._kept
        # What an earlier attempt has streamed may have lain there for days.
        if self._draft is None and not await self._reopen(streamed):
            self._losses += 1
            return {"gone": True}
        return await self._finish(head, streamed)

    async def _was_kept(self, head: Head, streamed: Streamed) -> dict[str, Any] | None:
        """Tell where the file lies, and have it named, if it was made whole."""
        if self._part.path.exists():
            return None
        kept = await self._finish(head, streamed)
        return None if kept.get("gone") else kept

    async def _finish(self, head: Head, streamed: Streamed, content: bytes | None = None) -> dict[str, Any]:
        wanted = self._artifact.filename or head.filename or name_of(streamed.url) or name_of(self._artifact.url)
        ready = Ready(self._part, self._draft, streamed.sha256, self._key, self._artifact.work_id, wanted, content)
        self._finishing = self._tools.finisher.finish(ready)
        return await self._finishing

    async def _reopen(self, streamed: Streamed) -> bool:
        """Take up a part that an earlier attempt has streamed; whether it holds that, or was made whole."""
        try:
            self._draft = LockedPart(self._part.path, make=False)
        except FileNotFoundError:
            return True
        if (size := self._draft.size) == streamed.size:
            digest = await self._tools.hands.do(partial(hashed, self._draft, size))  # ends if the draft is closed
            if digest.hexdigest() == streamed.sha256:
                return True
        self._part.forget()
        self._close()
        return False

    def _close(self) -> None:
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.close()

    async def _enter(self, kind: str, streamed: Streamed, name: str) -> str:
        """Write the row, and return what it says: INDEXED for the first of those that bring a content."""
        artifact = self._artifact
        row = Row(
            key=self._key,
            work_id=artifact.work_id,
            artifact_id=artifact.artifact_id,
            url=artifact.url,
            host=host_of(artifact.url),
            name=name.rpartition("/")[2],
            path=name,
            media_type=streamed.media_type,
            size=streamed.size,
            sha256=streamed.sha256,
            state=states.INDEXED if kind == "INDEX" else states.DEDUPED,
            fetched_at=self._task.started_at.timestamp(),
        )

        async def act() -> dict[str, str]:
            return {"key": row.key, "state": await self._tools.index.add_batched(row)}

        look = self._apart(partial(self._was_entered, row))
        found: dict[str, str] = await self._effect(kind, act, look, sha256=streamed.sha256)
        return found["state"]

    def _was_entered(self, row: Row) -> dict[str, str] | None:
        state = self._tools.index.state_of(row.key, row.sha256)
        return {"key": row.key, "state": state} if state else None

    def _apart(self, act: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
        """Have something that waits for a network or a disk done on a thread."""

        async def on_thread() -> Any:
            return await self._tools.hands.do(act)

        return on_thread

    def _effect(self, kind: str, act: Any, look: Any = None, **fields: Any) -> Awaitable[Any]:
        """Do a step under the document's own key; what is not found by looking is safe to do again."""
        url = {"url": self._artifact.url} if kind in ("HEAD", "STREAM") else {}
        told = {**url, **fields}

        asked, self._asked = self._asked, []

        async def run() -> Any:
            for move in asked:  # made in the transaction of this step, or before
                await move
            return await act()

        found: Awaitable[Any] = self._task.effect(
            kind, run, lookup=look, idempotent=True, ahead=True, op=op_key(kind, self._key, **told), **told
        )
        return found
