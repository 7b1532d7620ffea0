"""The bytes of one artifact in one attempt: streamed into a part or into memory, then published under their hash."""

import asyncio
from functools import partial
from typing import Final

from leasehold import Cancelled, Released, Task
from leasehold.pipelines.download.fetch import Streamed, check, read_small, stream, whole_part
from leasehold.pipelines.download.files.part import Part, is_small
from leasehold.pipelines.download.files.part_file import LockedPart, hashed
from leasehold.pipelines.download.files.publisher import Published, Ready
from leasehold.pipelines.download.http.client import Body, Head
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.process.concurrency import wait_uncancelled
from leasehold.pipelines.download.process.tools import Tools

PATIENCE_SECONDS: Final = 3.0


class Transfer:
    """What an attempt has of a file. Each step can be asked whether an earlier attempt has done it."""

    def __init__(self, task: Task, artifact: Artifact, tools: Tools) -> None:
        self._task = task
        self._artifact = artifact
        self._tools = tools
        self.part = Part(tools.content_store.part_path(artifact.key), tools.boot)
        self._part_file: LockedPart | None = None
        self._published: Published | None = None
        self._publishing: asyncio.Future[Published] | None = None
        self.losses = 0

    async def stream(self, head: Head) -> Streamed:
        """Fetch the bytes."""
        tools = self._tools
        self._close()
        body = await tools.client.open(self._artifact.url) if self._needs_no_part(head) else None
        if body is not None and is_small(body.head):
            return await self._stream_small(head, body)
        try:
            self._part_file = LockedPart(self.part.path)
        except BaseException:
            if body is not None:
                body.close()
            raise
        args = (tools.client, self._artifact.url, head, self.part, self._part_file, self._on_progress, tools.threads)
        return self._checked(await stream(*args, body))

    def _needs_no_part(self, head: Head) -> bool:
        """Whether a file comes at once: a crash costs no more than requesting it again."""
        return is_small(head) and self._tools.content_store.has_anonymous_files and not self.part.is_there

    async def _stream_small(self, head: Head, body: Body) -> Streamed:
        """Publish a small file before it counts as streamed: then it is not fetched again."""
        streamed, content = await read_small(body, self._on_progress)
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
        streamed = await whole_part(head, self.part, self._part_file, self._tools.threads)
        return None if streamed is None else self._checked(streamed)

    def _checked(self, streamed: Streamed) -> Streamed:
        try:
            check(streamed, self._artifact.sha256)
        except BaseException:
            if self._part_file is not None:
                self.part.forget()  # a wrong file is not resumed
            raise
        return streamed

    def _on_progress(self, done: int, total: int | None) -> None:
        self._task.progress(done, total=total)
        if self._task.stopping:
            raise Released("the worker is stopping")  # what is on disk is resumed
        if self._task.cancelled:
            raise Cancelled

    async def publish(self, head: Head, streamed: Streamed) -> Published:
        """Publish the part under its hash and its name."""
        if self._published is not None:
            return self._published
        # What an earlier attempt has streamed may have lain there for days.
        if self._part_file is None and not await self._reopen(streamed):
            self.losses += 1
            return Published(is_part_missing=True)
        return await self._publish(head, streamed)

    async def was_published(self, head: Head, streamed: Streamed) -> Published | None:
        """Return where the file lies, and have it named, if it was published."""
        if self.part.path.exists():
            return None
        published = await self._publish(head, streamed)
        return None if published.is_part_missing else published

    async def _publish(self, head: Head, streamed: Streamed, content: bytes | None = None) -> Published:
        artifact = self._artifact
        name = artifact.filename or head.filename or name_of(streamed.url) or name_of(artifact.url)
        ready = Ready(self.part, self._part_file, streamed.sha256, artifact.key, artifact.work_id, name, content)
        self._publishing = self._tools.publisher.publish(ready)
        return await self._publishing

    async def _reopen(self, streamed: Streamed) -> bool:
        """Open a part that an earlier attempt has streamed; whether it holds that, or was published."""
        try:
            self._part_file = LockedPart(self.part.path, make=False)
        except FileNotFoundError:
            return True
        if (size := self._part_file.size) == streamed.size:
            digest = await self._tools.threads.do(partial(hashed, self._part_file, size))  # ends if the file is closed
            if digest.hexdigest() == streamed.sha256:
                return True
        self.part.forget()
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
