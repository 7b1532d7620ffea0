"""The index: what is on disk, searchable. A file of its own beside the engine's on SQLite, a schema on PostgreSQL.

A row with a `reason` tells of a file that was here and is not any more; searches and counts of files leave it out.
Rows of many downloads are written together: whatever has gathered meanwhile is the next transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from leasehold.batching import Batcher
from leasehold.pipelines.download.index.backends import IndexBackend

GROUP_MAX: Final = 500
FIND_MAX: Final = 1_000


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


@dataclass(frozen=True, slots=True)
class Abandoned:
    """An operation on an artifact that was begun and never ended, and whose holder is gone."""

    key: str
    kind: str
    began_at: float
    marked_at: float


COLUMNS: Final = tuple(field.name for field in fields(Row))


class Index:
    """What is on disk."""

    def __init__(self, shelf: IndexBackend) -> None:
        self.marks = Marks(shelf)
        self._shelf = shelf
        self._batcher: Batcher[Row, str] = Batcher("leasehold-index", self._write, GROUP_MAX)

    def add(self, row: Row) -> None:
        """Write a row."""
        (state,) = self._write([row])
        if isinstance(state, Exception):
            raise state

    async def enter(self, row: Row) -> dict[str, str]:
        """Write a row, with whatever others are waiting; return its state once it is committed.

        Whoever is written first of those with one content has brought it, whatever else happened before.
        """
        return {"key": row.key, "state": await self._batcher.submit(row)}

    def _write(self, rows: list[Row]) -> list[str | Exception]:
        """Write rows in one order, so that two processes with the same rows do not wait for each other."""
        latest = sorted({row.key: row for row in rows}.items())
        try:
            self._shelf.change(("alone", {}), *(("write", self._kept(row)) for _, row in latest))
            states = dict(self._shelf.read("standing", {"keys": json.dumps([key for key, _ in latest])}))
        except Exception as error:  # noqa: BLE001 — whoever waits for it is told
            if len(rows) == 1:
                return [error]
            return [self._write([row])[0] for row in rows]  # one that cannot be written fails alone
        return [states.get(row.key, row.state) for row in rows]

    def _kept(self, row: Row) -> dict[str, Any]:
        """Return a row as it is kept, with its words."""
        found = {name: getattr(row, name) for name in COLUMNS}
        return {**found, "words": self._shelf.words(row.name, row.host, row.work_id, row.artifact_id, row.url)}

    def has(self, key: str, sha256: str | None = None) -> str | None:
        """Return the state of an artifact in the index, with this content if one is named; None: it is not there."""
        found = self._shelf.read("has", {"key": key, "sha256": sha256})
        return str(found[0][0]) if found else None

    def has_content(self, sha256: str, but: str) -> bool:
        """Whether another artifact has brought this content."""
        return bool(self._shelf.read("has_content", {"sha256": sha256, "but": but}))

    def find(self, text: str, limit: int = 50) -> list[Row]:
        """Search names, hosts, works and addresses; best first."""
        words = self._shelf.query(text.split())
        rows = self._shelf.read("find", {"words": words, "most": min(limit, FIND_MAX)}) if words else []
        return [Row(*row) for row in rows]

    def rows(self) -> Iterator[Row]:
        """Return every row, by key."""
        after = ""
        while page := self._shelf.read("page", {"after": after, "most": FIND_MAX}):
            yield from (Row(*row) for row in page)
            after = page[-1][0]

    def summary(self) -> Summary:
        """Count what is here."""
        return Summary(*self._shelf.read("summary", {})[0])

    def adopt(self, row: Row) -> bool:
        """Write a row unless there is one with its key; say whether it was written."""
        return self._shelf.change(("adopt", self._kept(row))) > 0

    def lose(self, row: Row, state: str, reason: str) -> bool:
        """Note that the file of a row is missing, unless another has taken the row's place meanwhile."""
        was = {"key": row.key, "sha256": row.sha256, "fetched_at": row.fetched_at}
        return self._shelf.change(("lose", {**was, "state": state, "reason": reason})) > 0

    def regain(self, row: Row, state: str) -> bool:
        """Note that the file of a row is there again."""
        return self._shelf.change(("regain", {"state": state, "key": row.key, "sha256": row.sha256})) > 0

    def rerun(self, key: str, version: int) -> None:
        """Take out a row whose file is missing and is fetched again, and note under which version."""
        self._shelf.change(("rerun", {"key": key, "version": version}), ("drop_missing", {"key": key}))

    def close(self) -> None:
        """Write what is left and let go."""
        self._batcher.close()
        self._shelf.close()


class Marks:
    """Operations that nobody goes on with."""

    def __init__(self, shelf: IndexBackend) -> None:
        self._shelf = shelf

    def add(self, mark: Abandoned) -> bool:
        """Mark an operation; say whether it was not before."""
        return self._shelf.change(("abandon", asdict(mark))) > 0

    def all(self, limit: int = FIND_MAX) -> list[Abandoned]:
        """Return what was marked, newest first."""
        return [Abandoned(*row) for row in self._shelf.read("abandoned", {"most": limit})]


def missing_rows(index: Index) -> list[Row]:
    """Return the rows whose file was found missing, by key."""
    return [row for row in index.rows() if row.reason is not None]
