"""Bringing folder, index and engine together again after crashes and people: at each start, and by command.

It never touches what a job that has not ended may be at work on, deletes no whole file, and judges nothing that is
younger than a minute: a worker may be between two steps. Any number may run at once, also while workers run.

    parts       of jobs that have ended, and of none, are removed once they are old
    strangers   whole files without a row are adopted if a job knows their hash, else reported
    losses      rows without their file are healed from a copy, else failed as `final_missing`
    abandoned   operations in flight for long and under no lease are marked; the next attempt does them again
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from leasehold import Job, Transient
from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import Collection
from leasehold.pipelines.download.files.content_store import hash_of
from leasehold.pipelines.download.files.part import LockedPart
from leasehold.pipelines.download.http.urls import host_of, name_of
from leasehold.pipelines.download.index.index import Abandoned, Row
from leasehold.pipelines.download.repair.heal import Healer
from leasehold.pipelines.download.repair.job_history import (
    Operation,
    artifact_key,
    begun_jobs,
    newest_of,
    operations_of,
)
from leasehold.pipelines.download.repair.verify import named_hash, objects_of, strangers_of
from leasehold.pipelines.download.status import FINAL_MISSING

PART_SECONDS: Final = 3_600.0
OPERATION_SECONDS: Final = 600.0
OBJECT_SECONDS: Final = 60.0
KEY_LENGTH: Final = 64


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What was done and found, by name: files of `staging`, paths below the folder, and operations with their job."""

    removed: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    healed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    final_missing: tuple[str, ...] = ()
    abandoned: tuple[str, ...] = ()

    @property
    def is_quiet(self) -> bool:
        """Whether there was nothing to do and nothing to report."""
        return not any(getattr(self, field.name) for field in fields(self))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields."""
        return asdict(self)


def reconcile(
    collection: Collection,
    *,
    part_age: float = PART_SECONDS,
    op_age: float = OPERATION_SECONDS,
    object_age: float = OBJECT_SECONDS,
) -> Reconciled:
    """Bring a collection's folder, index and jobs together, and return what was done."""
    return _Round(collection, time.time()).run(part_age, op_age, object_age)


class _Round:
    """One reconciliation."""

    def __init__(self, collection: Collection, now: float) -> None:
        self._collection = collection
        self._content_store = collection.content_store
        self._index = collection.tools.index
        self._now = now
        self._jobs: dict[str, Job] | None = None
        self._open: dict[str, Job] | None = None
        self._hashes: set[str] = set()

    def run(self, part_age: float, op_age: float, object_age: float) -> Reconciled:
        self._collection.app.manual.sweep()  # what a worker that is gone has held is held by nobody
        present = set(
            objects_of(self._content_store)
        )  # before the rows are read, so that no file is too new for its row
        losses = self._losses()  # before parts are removed: one of them may be the copy that heals
        return Reconciled(
            removed=tuple(self._parts(part_age)),
            abandoned=tuple(self._abandoned(op_age)),
            **losses,
            **self._strangers(strangers_of(present, self._hashes), object_age),
        )

    @property
    def _known(self) -> dict[str, Job]:
        """The newest job of each artifact. Asked for last, since reading them all takes long."""
        if self._jobs is None:
            self._jobs = newest_of(self._collection)
        return self._jobs

    @property
    def _begun(self) -> dict[str, Job]:
        """The jobs that were worked on and have not ended."""
        if self._open is None:
            self._open = {artifact_key(job.key): job for job in begun_jobs(self._collection)}
        return self._open

    def _parts(self, age: float) -> Iterator[str]:
        """Remove what lies in staging, is old, and belongs to a job that has ended or to none."""
        groups: dict[str, list[Path]] = {}
        for path in self._content_store.staging.iterdir():
            key = path.name.partition(".")[0]
            if len(key) == KEY_LENGTH:
                groups.setdefault(key, []).append(path)
        for key, paths in sorted(groups.items()):
            if all(self._is_older(path, age) for path in paths) and not self._is_wanted(key):
                yield from self._remove(key, paths, age)

    def _remove(self, key: str, paths: list[Path], age: float) -> Iterator[str]:
        """Remove what is left of a part, unless somebody has begun to build on it since."""
        part_file = None
        try:
            part_file = LockedPart(self._content_store.part(key), make=False)
        except (FileNotFoundError, PermissionError):
            pass  # a note alone, or what nobody can write to any more
        except Transient:
            return  # it is being written
        try:
            for path in sorted(path for path in paths if self._is_older(path, age)):
                path.unlink(missing_ok=True)
                yield path.name
        finally:
            if part_file is not None:
                part_file.close()

    def _is_wanted(self, key: str) -> bool:
        """Whether a job that has not ended, and so may be at work now, will build on a part."""
        job = self._begun.get(key) or self._known.get(key)
        return job is not None and not job.status.settled

    def _is_older(self, path: Path, age: float) -> bool:
        try:
            return self._now - path.stat().st_mtime >= age
        except FileNotFoundError:
            return False  # gone meanwhile: somebody is at work

    def _losses(self) -> dict[str, tuple[str, ...]]:
        """Heal rows whose file or name is missing, or report them."""
        healer = Healer(self._content_store)
        done: dict[str, list[str]] = {"healed": [], "linked": [], FINAL_MISSING: []}
        for row in self._index.rows():
            self._hashes.add(row.sha256)
            action = None if healer.is_whole(row) else self._loss(healer, row)
            if action:
                done[action].append(row.path)
        return {name: tuple(paths) for name, paths in done.items()}

    def _loss(self, healer: Healer, row: Row) -> str | None:
        was_here = self._content_store.has(row.sha256)
        if not was_here and not healer.heal(row):
            lost = row.reason is None and self._index.mark_missing(row, states.FAILED, FINAL_MISSING)
            return FINAL_MISSING if lost else None
        if row.reason is None:
            relinked = healer.link(row)
            return "healed" if not was_here else "linked" if relinked else None
        # A person has put it back, or another artifact has brought the same content.
        if hash_of(self._content_store.object(row.sha256))[0] != row.sha256 or not self._index.mark_present(
            row, states.INDEXED
        ):
            return None
        healer.link(row)
        return "healed"

    def _strangers(self, strangers: list[Path], age: float) -> dict[str, tuple[str, ...]]:
        """Adopt whole files that no row knows, or report them."""
        done: dict[str, list[str]] = {"adopted": [], "unknown": [], "changed": []}
        old = [path for path in strangers if self._is_settled(path, age)]
        claims = self._claims({named_hash(str(path)) for path in old}) if old else {}
        for path in old:
            action = self._stranger(path, claims.get(named_hash(str(path)), []))
            if action:
                done[action].append(str(path.relative_to(self._content_store.root)))
        return {name: tuple(paths) for name, paths in done.items()}

    def _is_settled(self, path: Path, age: float) -> bool:
        """Whether a file has been in its place for long; linking it there was its last change."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return False
        return self._now - max(found.st_mtime, found.st_ctime) >= age

    def _claims(self, hashes: set[str]) -> dict[str, list[Job]]:
        """Return the jobs that know each hash: from their results, their payloads and their effects."""
        found: dict[str, list[Job]] = {}
        for job in self._known.values():
            named = {(job.output or {}).get("sha256"), job.payload.get("sha256")}
            for sha256 in named & hashes:
                found.setdefault(sha256, []).append(job)
        for job in self._known.values() if hashes - found.keys() else ():
            for sha256 in self._done_by(job) & hashes:
                found.setdefault(sha256, []).append(job)
        return found

    def _done_by(self, job: Job) -> set[str]:
        done = operations_of(self._collection, job)
        return {one.result["sha256"] for one in done if one.kind == "STREAM" and isinstance(one.result, dict)}

    def _stranger(self, path: Path, jobs: list[Job]) -> str | None:
        sha256, size = hash_of(path)
        if sha256 != named_hash(str(path)):
            return "changed"
        if not jobs or self._content_store.object(sha256) != path:
            return "unknown"
        adopted = False
        for job in jobs:
            if job.status == "RUNNING":
                continue  # it is at work, and will write the row itself
            adopted |= self._index.add_if_absent(self._row(job, sha256, size))
        return "adopted" if adopted else None

    def _row(self, job: Job, sha256: str, size: int) -> Row:
        """Put together the row that a job would have written."""
        wanted, done = job.payload, operations_of(self._collection, job)
        streamed: dict[str, Any] = next((one.result for one in done if one.kind == "STREAM" and one.result), {})
        key, url = artifact_key(job.key), wanted["url"]
        name = wanted.get("filename") or name_of(url)
        path = (job.output or {}).get("path") or self._content_store.name(wanted["work_id"], name, key, sha256)
        return Row(
            key=key,
            work_id=wanted["work_id"],
            artifact_id=wanted["artifact_id"],
            url=url,
            host=host_of(url),
            name=path.rpartition("/")[2],
            path=path,
            media_type=streamed.get("media_type"),
            size=size,
            sha256=sha256,
            state=states.INDEXED,
            fetched_at=(job.finished_at or job.created_at).timestamp(),
        )

    def _abandoned(self, age: float) -> Iterator[str]:
        """Name the operations that were begun long ago by jobs that nobody works on now."""
        counts = self._collection.counts()
        if not any(counts.get(state) for state in states.UNFINISHED if state != states.PLANNED):
            return
        for key, job in self._begun.items():
            for one in self._stuck(job, age) if job.status in ("NEW", "READY") else ():
                if self._index.abandoned.add(Abandoned(key, one.kind, one.began_at, self._now)):
                    yield f"{one.kind} {key}"

    def _stuck(self, job: Job, age: float) -> Iterator[Operation]:
        for one in operations_of(self._collection, job):
            if one.is_open and self._now - one.began_at >= age:
                yield one
