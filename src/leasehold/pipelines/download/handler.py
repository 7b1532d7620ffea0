"""One artifact, from address to file: the handler.

Every step is an effect that is safe to repeat. One in doubt is looked up first (is the file there, with that hash?), so
that a crash at any point repeats nothing that counts.

    LEASED             the wanted hash is here already → SKIPPED_DUPLICATE
    HEAD               what the server states about the file
    RESUME_OK          an earlier attempt has left a part of the same file: it is resumed
    STREAM             its bytes, hashed on the way, checked against the wanted hash
    FINALIZE           synced and linked under its hash, with a name for people
    INDEX or DEDUPE    written to the index; DEDUPE if another artifact brought the same content before
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import Struct, to_builtins

from leasehold import Task, Transient
from leasehold.pipelines.download import states
from leasehold.pipelines.download.fetch import Streamed, Transfer, WorkerResources
from leasehold.pipelines.download.files.publisher import Published
from leasehold.pipelines.download.http.client import Head
from leasehold.pipelines.download.idempotency import op_key
from leasehold.pipelines.download.index.index import Row
from leasehold.pipelines.download.limits import PATIENCE_SECONDS
from leasehold.pipelines.download.manifest import Artifact
from leasehold.shapes import Shape

LOSSES_MAX: Final = 5
T = TypeVar("T")


class Presence(Struct, frozen=True):
    """Whether the wanted content is on disk and in the index."""

    is_present: bool


class Probe(Struct, frozen=True):
    """What the server states about the file, and how many bytes of it a part holds."""

    head: Head
    resumable_bytes: int


class Indexed(Struct, frozen=True):
    """The row in the index: INDEXED for the first artifact that brings a content, else DEDUPED."""

    key: str
    state: str


PRESENCE: Final = Shape[Presence](Presence)
PROBE: Final = Shape[Probe](Probe)
STREAMED: Final = Shape[Streamed](Streamed)
PUBLISHED: Final = Shape[Published](Published)
INDEXED: Final = Shape[Indexed](Indexed)


class Download:
    """One attempt at an artifact: effects under the document's own keys, each with the state changes before it."""

    def __init__(self, task: Task, artifact: Artifact, tools: WorkerResources) -> None:
        self._task = task
        self._artifact = artifact
        self._tools = tools
        self._moves: list[Awaitable[None]] = []
        self._transfer = Transfer(task, artifact, tools)

    async def run(self) -> dict[str, Any]:
        try:
            return await self._run()
        except FileNotFoundError as error:  # of this folder: no server answers so
            raise Transient(f"a file was removed meanwhile: {error}", error_class="CONFLICT") from error
        finally:
            await self._transfer.close()

    async def _run(self) -> dict[str, Any]:
        task, shutdown = self._task, self._tools.shutdown
        self._advance(states.LEASED)
        if await self._is_present():
            self._advance(states.SKIPPED_DUPLICATE)
            return {"state": states.SKIPPED_DUPLICATE, "sha256": self._artifact.sha256}
        with shutdown.guard(task):
            probe = await self._step("HEAD", PROBE, self._probe)
        self._advance(states.HEAD_DONE)
        if probe.resumable_bytes:
            self._advance(states.RESUME_OK)
        self._advance(states.STREAMING)
        streamed, published = await self._fetch(probe.head)
        self._advance(states.FINALIZED)
        state = await self._index(streamed, published)
        self._advance(state)
        return {"state": state, "sha256": streamed.sha256, "bytes": streamed.size, "path": published.name}

    async def _is_present(self) -> bool:
        if (wanted := self._artifact.sha256) is None:
            return False
        tools, key = self._tools, self._artifact.key

        async def act() -> Presence:
            has, state_of = tools.content_store.has, tools.index.state_of
            return Presence(await tools.threads.do(lambda: has(wanted) and state_of(key) is not None))

        return (await self._step("LOOK", PRESENCE, act, sha256=wanted)).is_present

    async def _probe(self) -> Probe:
        head = await self._tools.client.head(self._artifact.url)
        return Probe(head, self._transfer.part.resumable_bytes(head))

    async def _fetch(self, head: Head) -> tuple[Streamed, Published]:
        """Stream and finalize; once more where somebody removed the part in between."""
        transfer, task, shutdown = self._transfer, self._task, self._tools.shutdown
        effort = 0  # those of earlier attempts are on record
        while transfer.losses < LOSSES_MAX:
            fields = {"effort": effort} if effort else {}
            with shutdown.guard(task):
                act, lookup = partial(transfer.stream, head), partial(transfer.was_streamed, head)
                streamed = await self._step("STREAM", STREAMED, act, lookup, range_start=0, **fields)
            with shutdown.guard(task, patience=PATIENCE_SECONDS):
                publish = partial(transfer.publish, head, streamed)
                look = partial(transfer.was_published, head, streamed)
                key = {"sha256": streamed.sha256, **fields}
                published = await self._step("FINALIZE", PUBLISHED, publish, look, **key)
            if not published.is_part_missing:
                return streamed, published
            effort += 1
        raise FileNotFoundError(f"the part of {self._artifact.url}, {LOSSES_MAX} times")

    async def _index(self, streamed: Streamed, published: Published) -> str:
        index = self._tools.index
        found = {"media_type": streamed.media_type, "size": streamed.size, "sha256": streamed.sha256}
        state, at = states.INDEXED if published.is_new else states.DEDUPED, self._task.started_at.timestamp()
        row = Row.of(self._artifact, published.name, state=state, fetched_at=at, **found)

        async def act() -> Indexed:
            return Indexed(row.key, await index.add(row))

        async def look() -> Indexed | None:
            state = await self._tools.threads.do(partial(index.state_of, row.key, row.sha256))
            return Indexed(row.key, state) if state else None

        kind = "INDEX" if published.is_new else "DEDUPE"
        return (await self._step(kind, INDEXED, act, look, sha256=streamed.sha256)).state

    def _advance(self, state: str) -> None:
        """Change the state. Changes are made in order, in the transaction of the next step or before."""
        self._moves.append(self._task.advance(state))

    async def _step(
        self,
        kind: str,
        shape: Shape[T],
        act: Callable[[], Awaitable[T]],
        lookup: Callable[[], Awaitable[T | None]] | None = None,
        **fields: Any,
    ) -> T:
        """Do a step; one in doubt that `lookup` does not find is safe to do again."""
        if kind in ("HEAD", "STREAM"):
            fields = {"url": self._artifact.url, **fields}
        moves, self._moves = self._moves, []

        async def run() -> Any:
            for move in moves:
                await move
            return to_builtins(await act())

        async def look() -> Any:
            assert lookup is not None
            return to_builtins(await lookup())

        key = op_key(kind, self._artifact.key, **fields)
        terms: dict[str, Any] = {"idempotent": True, "ahead": True, "op": key}
        return shape.convert(await self._task.effect(kind, run, lookup=lookup and look, **terms, **fields))
