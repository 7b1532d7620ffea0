"""The index: what is on disk, searchable. A file of its own next to the engine's on SQLite, a schema on PostgreSQL.

A row with a `reason` is of a file that was here and is missing now; searches and counts of files leave it out. Rows of
many downloads are written together: those that wait while a batch is written are the next one.
"""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from leasehold.batching import Batcher
from leasehold.pipelines.download.index.backends import IndexBackend
from leasehold.pipelines.download.manifest import Artifact

GROUP_MAX: Final = 500
FIND_MAX: Final = 1_000
WANTED: Final = ("key", "work_id", "artifact_id", "url", "host")


@dataclass(frozen=True, slots=True)
class Row:
    """One artifact that is on disk. `path` is below the collection's folder; `fetched_at` in seconds since 1970.

    `reason`: why its state is FAILED; None while the file is there.
    """

    key: str
    work_id: str
    artifact_id: str
    url: str
    host: str
    name: str
    path: str
    media_type: str | None
    size: int
    sha256: str
    state: str
    fetched_at: float
    reason: str | None = None

    @classmethod
    def of(cls, artifact: Artifact, path: str, **found: Any) -> Self:
        """Return the row of an artifact; `found`: media_type, size, sha256, state and fetched_at."""
        wanted: dict[str, Any] = {name: getattr(artifact, name) for name in WANTED}
        return cls(**wanted, name=path.rpartition("/")[2], path=path, **found)


@dataclass(frozen=True, slots=True)
class Summary:
    """What is here: files, their bytes, contents that differ and theirs, and the times of the first and last."""

    files: int
    bytes: int
    contents: int
    bytes_on_disk: int
    missing: int
    reruns: int
    first_at: float | None
    last_at: float | None


COLUMNS: Final = tuple(field.name for field in fields(Row))


class Index:
    def __init__(self, backend: IndexBackend) -> None:
        self._backend = backend
        self._batcher: Batcher[Row, str] = Batcher("leasehold-index", self._write, GROUP_MAX)

    def add(self, row: Row) -> asyncio.Future[str]:
        """Write a row together with others that wait; its state once it is committed.

        Of the rows with one content, the first that is written has brought it, whatever happened before.
        """
        return self._batcher.submit(row)

    def _write(self, rows: list[Row]) -> list[str | Exception]:
        """Write rows in one order, so that two processes with the same rows do not wait for each other."""
        latest = sorted({row.key: row for row in rows}.items())
        try:
            self._backend.change(("artifact/lock", {}), *(("artifact/upsert", self._values(row)) for _, row in latest))
            states = dict(self._backend.read("artifact/states", {"keys": json.dumps([key for key, _ in latest])}))
        except Exception as error:  # noqa: BLE001 — raised where the row is awaited
            # One that cannot be written fails alone.
            return [error] if len(rows) == 1 else [self._write([row])[0] for row in rows]
        return [states.get(row.key, row.state) for row in rows]

    def _values(self, row: Row) -> dict[str, Any]:
        found = {name: getattr(row, name) for name in COLUMNS}
        return {**found, "words": self._backend.search_text(row.name, row.host, row.work_id, row.artifact_id, row.url)}

    def state_of(self, key: str, sha256: str | None = None) -> str | None:
        """Return the state of an artifact in the index, with this content if one is given; None: it is not there."""
        found = self._backend.read("artifact/state", {"key": key, "sha256": sha256})
        return str(found[0][0]) if found else None

    def has_content(self, sha256: str, other_than: str) -> bool:
        return bool(self._backend.read("artifact/has_content", {"sha256": sha256, "other_than": other_than}))

    def find(self, text: str, limit: int = 50) -> list[Row]:
        """Search names, hosts, works and addresses; best first."""
        words = self._backend.search_query(text.split())
        values = {"words": words, "rows_max": min(limit, FIND_MAX)}
        return [Row(*row) for row in self._backend.read("artifact/search", values)] if words else []

    def rows(self) -> Iterator[Row]:
        after = ""
        while page := self._backend.read("artifact/page", {"after": after, "rows_max": FIND_MAX}):
            yield from (Row(*row) for row in page)
            after = page[-1][0]

    def summary(self) -> Summary:
        return Summary(*self._backend.read("artifact/summary", {})[0])

    def add_if_absent(self, row: Row) -> bool:
        """Write a row unless there is one with its key; return whether it was written."""
        return self._backend.change(("artifact/insert_if_absent", self._values(row))) > 0

    def mark_missing(self, row: Row, state: str, reason: str) -> bool:
        """Mark the file of a row as missing, unless the row was replaced meanwhile."""
        was = {"key": row.key, "sha256": row.sha256, "fetched_at": row.fetched_at}
        return self._backend.change(("artifact/mark_missing", {**was, "state": state, "reason": reason})) > 0

    def mark_present(self, row: Row, state: str) -> bool:
        values = {"state": state, "key": row.key, "sha256": row.sha256}
        return self._backend.change(("artifact/mark_present", values)) > 0

    def record_rerun(self, key: str, version: int) -> None:
        """Delete a row whose file is missing and is fetched again, and record under which version."""
        rerun = ("artifact/record_rerun", {"key": key, "version": version})
        self._backend.change(rerun, ("artifact/delete_missing", {"key": key}))

    def mark_abandoned(self, key: str, kind: str, began_at: float, marked_at: float) -> bool:
        """Mark an operation on an artifact whose holder is gone; return whether it was not marked before."""
        values = {"key": key, "kind": kind, "began_at": began_at, "marked_at": marked_at}
        return self._backend.change(("operation/mark_abandoned", values)) > 0

    def close(self) -> None:
        self._batcher.close()
        self._backend.close()


def missing_rows(index: Index) -> list[Row]:
    """Return the rows whose file was found missing, by key."""
    return [row for row in index.rows() if row.reason is not None]
