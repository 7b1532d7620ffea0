"""Bringing folder, index and engine together again after crashes and people: at each start, and by command.

It never touches what a job that has not ended may be at work on, deletes no whole file, and judges nothing that is
younger than a minute: a worker may be between two steps. Any number may run at once, also while workers run.

    parts       of jobs that have ended, and of none, are removed once they are old
    files       without a row are adopted if a job knows their hash, else reported
    rows        without their file are healed from a copy, else failed as `final_missing`
    operations  in flight for long and under no lease are marked as abandoned; the next attempt does them again
"""

import os
import shutil
import threading
import time
from collections import defaultdict
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from leasehold import Job, Transient
from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import Collection
from leasehold.pipelines.download.files.content_store import ContentStore, hash_of
from leasehold.pipelines.download.files.part import LockedPart, digest_of
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.index.index import Row
from leasehold.pipelines.download.limits import OBJECT_SECONDS, OPERATION_SECONDS, PART_SECONDS
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.repair.job_history import artifact_key, begun_jobs, newest_jobs, operations_of
from leasehold.pipelines.download.repair.verify import hash_in, unindexed

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
        return not any(getattr(self, field.name) for field in fields(self))

    def plain(self) -> dict[str, Any]:
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
    """One reconciliation. `_done`: names of files and operations by field of `Reconciled`."""

    def __init__(self, collection: Collection, now: float) -> None:
        self._collection = collection
        self._content_store = collection.content_store
        self._index = collection.tools.index
        self._now = now
        self._done: dict[str, list[str]] = defaultdict(list)

    def run(self, part_age: float, op_age: float, object_age: float) -> Reconciled:
        self._collection.app.manual.sweep()  # what a worker that is gone has held is held by nobody
        present = set(self._content_store.objects())  # before the rows: so no file is too new for its row
        hashes = self._check_rows()  # before parts are removed: one of them may be the copy that restores a file
        self._remove_parts(part_age)
        self._mark_abandoned(op_age)
        self._adopt([path for path in unindexed(present, hashes) if self._is_older(path, object_age, as_linked=True)])
        return Reconciled(**{name: tuple(found) for name, found in self._done.items()})

    @cached_property
    def _known(self) -> dict[str, Job]:
        """The newest job of each artifact. Asked for last, since reading them all takes long."""
        return newest_jobs(self._collection)

    @cached_property
    def _begun(self) -> dict[str, Job]:
        return {artifact_key(job.key): job for job in begun_jobs(self._collection)}

    def _is_older(self, path: Path, age: float, *, as_linked: bool = False) -> bool:
        """Whether a file was not changed for long; `as_linked`: nor linked to its place."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return False  # gone meanwhile: somebody is at work
        return self._now - (max(found.st_mtime, found.st_ctime) if as_linked else found.st_mtime) >= age

    def _check_rows(self) -> set[str]:
        """Restore what rows are missing, their file or its name, or report them; return the hashes of all rows."""
        hashes = set()
        for row in self._index.rows():
            hashes.add(row.sha256)
            if not _is_in_place(self._content_store, row) and (action := self._repair(row)):
                self._done[action].append(row.path)
        return hashes

    def _repair(self, row: Row) -> str | None:
        was_here = self._content_store.has(row.sha256)
        if not was_here and not _restore(self._content_store, row):
            lost = row.reason is None and self._index.mark_missing(row, states.FAILED, states.FINAL_MISSING)
            return states.FINAL_MISSING if lost else None
        if row.reason is None:
            relinked = _relink(self._content_store, row)
            return "healed" if not was_here else "linked" if relinked else None
        # A person has put it back, or another artifact has brought the same content.
        is_right = hash_of(self._content_store.object(row.sha256))[0] == row.sha256
        if not is_right or not self._index.mark_present(row, states.INDEXED):
            return None
        _relink(self._content_store, row)
        return "healed"

    def _remove_parts(self, age: float) -> None:
        """Remove what lies in staging, is old, and belongs to a job that has ended or to none."""
        groups: dict[str, list[Path]] = defaultdict(list)
        for path in self._content_store.staging.iterdir():
            key = path.name.partition(".")[0]
            if len(key) == KEY_LENGTH:
                groups[key].append(path)
        for key, paths in sorted(groups.items()):
            if all(self._is_older(path, age) for path in paths) and not self._is_wanted(key):
                self._remove_part(key, paths, age)

    def _remove_part(self, key: str, paths: list[Path], age: float) -> None:
        """Remove what is left of a part, unless somebody has begun to build on it since."""
        with ExitStack() as stack:
            try:
                stack.enter_context(closing(LockedPart(self._content_store.part(key), make=False)))
            except (FileNotFoundError, PermissionError):
                pass  # a sidecar alone, or what nobody can write to any more
            except Transient:
                return  # it is being written
            for path in sorted(path for path in paths if self._is_older(path, age)):
                path.unlink(missing_ok=True)
                self._done["removed"].append(path.name)

    def _is_wanted(self, key: str) -> bool:
        """Whether a job that has not ended, and so may be at work now, will build on a part."""
        job = self._begun.get(key) or self._known.get(key)
        return job is not None and not job.status.settled

    def _mark_abandoned(self, age: float) -> None:
        """Mark the operations that were begun long ago by jobs that nobody works on now."""
        counts = self._collection.counts()
        if not any(counts.get(state) for state in states.UNFINISHED if state != states.PLANNED):
            return
        for key, job in self._begun.items():
            for one in operations_of(self._collection, job) if job.status in ("NEW", "READY") else ():
                is_stuck = one.is_open and self._now - one.began_at >= age
                if is_stuck and self._index.mark_abandoned(key, one.kind, one.began_at, self._now):
                    self._done["abandoned"].append(f"{one.kind} {key}")

    def _adopt(self, paths: list[Path]) -> None:
        """Adopt whole files that no row knows, or report them."""
        claims = self._claims({hash_in(path) for path in paths}) if paths else {}
        for path in paths:
            if action := self._adopt_one(path, claims.get(hash_in(path), [])):
                self._done[action].append(str(path.relative_to(self._content_store.root)))

    def _claims(self, hashes: set[str]) -> dict[str, list[Job]]:
        """Return the jobs that know each hash: from their results, their payloads and their effects."""
        found: dict[str, list[Job]] = defaultdict(list)
        for job in self._known.values():
            for sha256 in {(job.output or {}).get("sha256"), job.payload.get("sha256")} & hashes:
                found[sha256].append(job)
        for job in self._known.values() if hashes - found.keys() else ():
            for sha256 in {one["sha256"] for one in self._streamed(job)} & hashes:
                found[sha256].append(job)
        return found

    def _streamed(self, job: Job) -> list[dict[str, Any]]:
        done = operations_of(self._collection, job)
        return [one.result for one in done if one.kind == "STREAM" and isinstance(one.result, dict)]

    def _adopt_one(self, path: Path, jobs: list[Job]) -> str | None:
        sha256, size = hash_of(path)
        if sha256 != hash_in(path):
            return "changed"
        if not jobs or self._content_store.object(sha256) != path:
            return "unknown"
        idle = [job for job in jobs if job.status != "RUNNING"]  # one at work will write the row itself
        adopted = [self._index.add_if_absent(self._row(job, sha256, size)) for job in idle]
        return "adopted" if any(adopted) else None

    def _row(self, job: Job, sha256: str, size: int) -> Row:
        wanted = Artifact(**job.payload)
        name = wanted.filename or name_of(wanted.url)
        path = (job.output or {}).get("path") or self._content_store.name(wanted.work_id, name, wanted.key, sha256)
        media_type = next(iter(self._streamed(job)), {}).get("media_type")
        at = (job.finished_at or job.created_at).timestamp()
        found = {"media_type": media_type, "size": size, "sha256": sha256, "state": states.INDEXED, "fetched_at": at}
        return Row.of(wanted, path, **found)


def _is_in_place(content_store: ContentStore, row: Row) -> bool:
    """Whether the name of a row leads to its content and that is there: so it is with nearly all of them."""
    link = f"{content_store.root}/{row.path}"
    try:
        aim = os.readlink(link)  # noqa: PTH115 — asked for every file at every start
        is_right = row.reason is None and aim.endswith(f"sha256/{row.sha256[:2]}/{row.sha256[2:]}")
        return is_right and os.path.exists(link)  # noqa: PTH110
    except OSError:
        return False


def _restore(content_store: ContentStore, row: Row) -> bool:
    """Restore the content of a row from a copy, where its name should be or among the parts; return whether it is.

    The copy is copied, hashed and only then published: a process that still writes to it cannot change the content.
    """
    named = content_store.root / row.path
    copies = [named] if named.is_file() and not named.is_symlink() else []
    copies += sorted(content_store.staging.glob("*.part"))
    return any(_restore_from(path, content_store, row) for path in copies if _has_size(path, row.size))


def _restore_from(path: Path, content_store: ContentStore, row: Row) -> bool:
    unfinished = content_store.staging / f"{row.key}.{_own_suffix()}.copy"
    try:
        shutil.copyfile(path, unfinished)
        with closing(LockedPart(unfinished, make=False)) as part_file:
            if part_file.size != row.size or digest_of(part_file, row.size).hexdigest() != row.sha256:
                return False
            content_store.publish(part_file, row.sha256)
            return True
    except FileNotFoundError:
        return False  # it was taken away meanwhile
    finally:
        unfinished.unlink(missing_ok=True)


def _relink(content_store: ContentStore, row: Row) -> bool:
    """Make the name of a row lead to its content where it leads nowhere; return whether it was made."""
    link = content_store.root / row.path
    is_copy = not link.is_symlink() and _has_size(link, row.size) and hash_of(link)[0] == row.sha256
    if link.exists() and not is_copy:
        return False  # a name that leads to something is a person's to judge
    link.parent.mkdir(parents=True, exist_ok=True)
    unfinished = link.with_name(f".{row.key}.{_own_suffix()}")
    with suppress(FileExistsError):
        unfinished.symlink_to(os.path.relpath(content_store.object(row.sha256), link.parent))
    unfinished.replace(link)
    return True


def _own_suffix() -> str:
    """Return what no other process or thread that does the same has in its names."""
    return f"{os.getpid()}-{threading.get_ident()}"


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False
