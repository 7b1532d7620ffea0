"""Read everything again: does each file still have the content that the index records?"""

import os
from collections.abc import Callable, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from leasehold.pipelines.download.collection import Collection
from leasehold.pipelines.download.files.content_store import ContentStore, hash_of
from leasehold.pipelines.download.index.index import Row

THREADS_MAX: Final = 8
BATCH_MAX: Final = 1_000
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FileDifference:
    """One thing that is not as it should be. `path` is below the collection's folder; `keys`: of whose files it is."""

    what: Literal["changed", "missing", "link", "unknown"]
    path: str
    keys: tuple[str, ...] = ()
    found: str | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was read, and what differs."""

    files: int
    contents: int
    bytes: int
    differences: tuple[FileDifference, ...]

    @property
    def is_well(self) -> bool:
        return not self.differences

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "is_well": self.is_well}


def verify(collection: Collection, on_progress: OnProgress = lambda *_: None) -> Verified:
    """Hash every content of the index, each once, and follow every name; nothing is changed."""
    content_store, index = collection.content_store, collection.tools.index
    present = set(content_store.objects())  # before the rows are read: what comes later is not taken for unknown
    rows = list(index.rows())
    contents: dict[str, list[Row]] = {}
    for row in rows:
        contents.setdefault(row.sha256, []).append(row)
    found, size = list[FileDifference](), 0
    for done, (sha256, now, length) in enumerate(_read(content_store, sorted(contents)), 1):
        size += length
        on_progress(done, len(contents))
        if now != sha256:
            keys = tuple(row.key for row in contents[sha256])
            path = _below(content_store, content_store.object(sha256))
            found.append(FileDifference("changed" if now else "missing", path, keys, now))
    found += [one for row in rows if row.reason is None and (one := _name(content_store, row))]
    found += [FileDifference("unknown", _below(content_store, path)) for path in unindexed(present, contents.keys())]
    return Verified(len(rows), len(contents), size, tuple(found))


def unindexed(paths: Iterable[str], hashes: Container[str]) -> list[Path]:
    """Return the files whose path has none of the hashes, which are those of the index."""
    return [Path(path) for path in sorted(paths) if hash_in(path) not in hashes]


def hash_in(path: str | Path) -> str:
    return "".join(str(path).rsplit("/", 2)[-2:])


def _read(content_store: ContentStore, hashes: Iterable[str]) -> Iterator[tuple[str, str | None, int]]:
    """Read contents on many threads, in batches, so that a large index does not become a large queue."""

    def read(sha256: str) -> tuple[str, str | None, int]:
        try:
            return sha256, *hash_of(content_store.object(sha256))
        except OSError:
            return sha256, None, 0

    waiting = iter(hashes)
    with ThreadPoolExecutor(min(THREADS_MAX, (os.cpu_count() or 1) * 2)) as pool:
        while batch := list(islice(waiting, BATCH_MAX)):
            yield from pool.map(read, batch)


def _name(content_store: ContentStore, row: Row) -> FileDifference | None:
    link = content_store.root / row.path
    if link.is_symlink() and str(link.readlink()) == os.path.relpath(content_store.object(row.sha256), link.parent):
        return None
    return FileDifference("link", row.path, (row.key,))


def _below(content_store: ContentStore, path: Path) -> str:
    return str(path.relative_to(content_store.root))
