"""One artifact, from address to file: the handler.

Every step is an effect that is safe to repeat, so that a crash at any point repeats nothing that counts.

    LEASED             the hash that was wanted is here already → SKIPPED_DUPLICATE
    HEAD               what the server says of the file
    RESUME_OK          an earlier job has left a part of the same file: it is built on
    STREAM             its bytes, hashed as they come, checked against what was wanted
    FINALIZE           synced and linked under its hash, with a name for people
    INDEX or DEDUPE    written to the index; DEDUPE if another artifact brought the same content before
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from leasehold import Released, Task
from leasehold.pipelines.download import states
from leasehold.pipelines.download.client import Client, Head
from leasehold.pipelines.download.idempotency import op_key
from leasehold.pipelines.download.index import Index, Row
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.places import Places, hash_of
from leasehold.pipelines.download.streaming import Part, Streamed, check, stream
from leasehold.pipelines.download.urls import host_of, name_of

EFFORTS_MAX = 5


@dataclass(frozen=True, slots=True)
class Tools:
    """What a worker process works with."""

    places: Places
    client: Client
    index: Index
    boot: str


class Work:
    """The steps of one attempt."""

    def __init__(self, task: Task, artifact: Artifact, tools: Tools) -> None:
        self._task = task
        self._artifact = artifact
        self._tools = tools
        self._key = artifact.key
        self._part = Part(tools.places.part(self._key), tools.boot)
        self._fresh = ""

    def run(self) -> dict[str, Any]:
        """Have the file on disk and in the index; return what it is."""
        self._task.advance(states.LEASED)
        if self._is_here():
            self._task.advance(states.SKIPPED_DUPLICATE)
            return {"state": states.SKIPPED_DUPLICATE, "sha256": self._artifact.sha256}
        head, reach = self._head()
        self._task.advance(states.HEAD_DONE)
        if reach:
            self._task.advance(states.RESUME_OK)
        self._task.advance(states.STREAMING)
        streamed, kept = self._fetch(head)
        self._task.advance(states.FINALIZED)
        state = states.INDEXED if kept["is_new"] else states.DEDUPED
        self._enter("INDEX" if kept["is_new"] else "DEDUPE", streamed, kept["name"])
        self._task.advance(state)
        return {"state": state, "sha256": streamed.sha256, "bytes": streamed.size, "path": kept["name"]}

    def _is_here(self) -> bool:
        """Whether the content that was asked for by its hash is on disk and in the index under this key already."""
        wanted = self._artifact.sha256
        if wanted is None:
            return False
        found: dict[str, Any] = self._effect("LOOK", lambda: {"here": self._known(wanted)}, sha256=wanted)
        return bool(found["here"])

    def _known(self, sha256: str) -> bool:
        return self._tools.places.has(sha256) and self._tools.index.has(self._key)

    def _head(self) -> tuple[Head, int]:
        """Ask what the file is like, and see how much of it an earlier job has left."""

        def act() -> dict[str, Any]:
            head = self._tools.client.head(self._artifact.url)
            return {"head": asdict(head), "reach": self._part.reach(head)}

        found: dict[str, Any] = self._effect("HEAD", act)
        return Head(**found["head"]), int(found["reach"])

    def _fetch(self, head: Head) -> tuple[Streamed, dict[str, Any]]:
        """Stream and finalize; where somebody took the part away in between, once more."""
        for effort in range(EFFORTS_MAX):
            fields = {"effort": effort} if effort else {}
            streamed = Streamed(**self._effect("STREAM", lambda: self._stream(head), range_start=0, **fields))
            kept: dict[str, Any] = self._effect(
                "FINALIZE", lambda found=streamed: self._keep(head, found), sha256=streamed.sha256, **fields
            )
            if not kept.get("gone"):
                return streamed, kept
        raise FileNotFoundError(f"the part of {self._artifact.url} was taken away {EFFORTS_MAX} times")

    def _stream(self, head: Head) -> dict[str, Any]:
        streamed = stream(self._tools.client, self._artifact.url, head, self._part, self._tell)
        try:
            check(streamed, self._artifact.sha256)
        except BaseException:
            self._part.forget()  # a wrong file is not built on
            raise
        self._fresh = streamed.sha256
        return asdict(streamed)

    def _tell(self, done: int, total: int | None) -> None:
        self._task.progress(done, total=total)
        if self._task.leaving:
            raise Released("the worker is stopping")  # what is on disk is built on

    def _keep(self, head: Head, streamed: Streamed) -> dict[str, Any]:
        """Make the part whole. It was whole before if its content is there under another name of the same file."""
        places = self._tools.places
        if self._part.path.exists():
            # What an earlier attempt has streamed may have lain there for days.
            if self._fresh != streamed.sha256 and hash_of(self._part.path) != (streamed.sha256, streamed.size):
                self._part.forget()
                return {"gone": True}
            is_new = places.keep(self._part.path, streamed.sha256).is_new
        elif places.has(streamed.sha256):
            is_new = not self._tools.index.has_content(streamed.sha256, self._key)
        else:
            return {"gone": True}
        self._part.forget()
        wanted = self._artifact.filename or head.filename or name_of(streamed.url) or name_of(self._artifact.url)
        return {"is_new": is_new, "name": places.name(self._artifact.work_id, wanted, self._key, streamed.sha256)}

    def _enter(self, kind: str, streamed: Streamed, name: str) -> None:
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
        self._effect(kind, lambda: self._tools.index.add(row), sha256=streamed.sha256)

    def _effect(self, kind: str, act: Any, **fields: Any) -> Any:
        """Do a step under the document's own key. Each is safe to do again: it finds what was done before."""
        url = {"url": self._artifact.url} if kind in ("HEAD", "STREAM") else {}
        told = {**url, **fields}
        return self._task.effect(kind, act, idempotent=True, op=op_key(kind, self._key, **told), **told)
