"""The index: what is on disk, searchable. A file of its own beside the engine's on SQLite, a schema on PostgreSQL.

A row with a `reason` tells of a file that was here and is not any more; searches and counts of files leave it out.
Rows come from many threads; whatever has gathered while the last ones were written becomes the next transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from leasehold.pipelines.download.shelves import Shelf, words_of

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

    def __init__(self, shelf: Shelf) -> None:
        self.marks = Marks(shelf)
        self._shelf = shelf
        self._gathered: list[tuple[Row, _Reply]] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, row: Row) -> dict[str, str]:
        """Write a row, with whatever others are waiting; return once it is committed."""
        reply = _Reply()
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="leasehold-index", daemon=True)
                self._thread.start()
            self._gathered.append((row, reply))
            self._changed.notify()
        reply.wait()
        return {"key": row.key}

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._gathered or self._closed)
                group, self._gathered = self._gathered[:GROUP_MAX], self._gathered[GROUP_MAX:]
            if not group:
                return
            try:
                # In one order, so that two processes that write the same rows do not wait for each other.
                latest = sorted({row.key: row for row, _ in group}.items())
                self._shelf.change(*(("write", _kept(row)) for _, row in latest))
                trouble = None
            except Exception as error:  # noqa: BLE001 — those who wait are told
                trouble = error
            for _, reply in group:
                reply.answer(trouble)

    def has(self, key: str) -> bool:
        """Whether an artifact is in the index."""
        return bool(self._shelf.read("has", {"key": key}))

    def has_content(self, sha256: str, but: str) -> bool:
        """Whether another artifact has this content."""
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

    def missing(self) -> list[Row]:
        """Return the rows whose file was found missing, by key."""
        return [row for row in self.rows() if row.reason is not None]

    def summary(self) -> Summary:
        """Count what is here."""
        return Summary(*self._shelf.read("summary", {})[0])

    def adopt(self, row: Row) -> bool:
        """Write a row unless there is one with its key; say whether it was written."""
        return self._shelf.change(("adopt", _kept(row))) > 0

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
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        self._shelf.close()


class Marks:
    """Operations that nobody goes on with."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def add(self, mark: Abandoned) -> bool:
        """Mark an operation; say whether it was not before."""
        return self._shelf.change(("abandon", asdict(mark))) > 0

    def all(self, limit: int = FIND_MAX) -> list[Abandoned]:
        """Return what was marked, newest first."""
        return [Abandoned(*row) for row in self._shelf.read("abandoned", {"most": limit})]


class _Reply:
    """What one of many waits for."""

    __slots__ = ("_done", "_trouble")

    def __init__(self) -> None:
        self._done = threading.Event()
        self._trouble: Exception | None = None

    def answer(self, trouble: Exception | None) -> None:
        self._trouble = trouble
        self._done.set()

    def wait(self) -> None:
        self._done.wait()
        if self._trouble is not None:
            raise self._trouble


def _kept(row: Row) -> dict[str, Any]:
    """Return a row as it is kept, with its words."""
    return {**asdict(row), "words": " ".join(words_of(row.name, row.host, row.work_id, row.artifact_id, row.url))}
