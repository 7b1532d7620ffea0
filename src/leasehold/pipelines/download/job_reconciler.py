"""After crashes: what they left behind is cleared away or mended. Nothing under a live lease is touched."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from leasehold import Permanent
from leasehold.errors import JobNotFree
from leasehold.pipelines.download import states
from leasehold.pipelines.download.files.content_store import hash_of, sync
from leasehold.pipelines.download.limits import TTL_SECONDS
from leasehold.pipelines.download.script_engine import Engine, engine

__all__ = ["ReconcileCounts", "cleanup_stale_leases", "cleanup_stale_ops", "reconcile_jobs"]

_words = re.compile(r"[0-9A-Za-z]+")


class ReconcileCounts(NamedTuple):
    """How many stale parts were removed, and how many rows without their file were healed, or failed for good."""

    deleted_files: int
    healed_rows: int


class Finalized(NamedTuple):
    """A job that was finalized: where its file should be, and with what content."""

    job_id: int
    state: str
    path: Path
    sha256: str | None


def reconcile_jobs(conn: object, staging_root: Path | str, max_age_s: float = 3_600) -> ReconcileCounts:
    """Remove `.part` files of no live lease that are older than `max_age_s`; mend jobs whose final file is gone.

    A part belongs to a lease if the job's id or key is a word of its name. Where a job's FINALIZE recorded `final_path`
    (or `path`) and `sha256`, and nothing is there, the file is copied from another job's with the same hash; a job for
    which there is none fails as `final_missing`, unless it is in the index already.
    """
    with engine(conn) as found:
        deleted = _remove_stale(found, Path(staging_root), max_age_s)
        finals = _finalized(found)
        return ReconcileCounts(deleted, sum(_mend(found, one, finals) for one in finals if not one.path.exists()))


def cleanup_stale_leases(conn: object) -> int:
    """Take back leases that have expired, so that their jobs are leased again; return how many."""
    with engine(conn) as found:
        return found.app.manual.sweep()


def cleanup_stale_ops(conn: object, abandoned_threshold_s: float = 600) -> int:
    """Mark operations as ABANDONED that are in flight for longer and of no live lease; return how many.

    It is a mark for people to see: who leases the job next does the operation again.
    """
    with engine(conn) as found, found.app.transaction(conn):
        return len(found.ask("mark_abandoned", age_us=round(abandoned_threshold_s * 1_000_000)))


def _remove_stale(found: Engine, root: Path, age: float) -> int:
    old = [part for part in sorted(root.rglob("*.part")) if _is_older(part, age)] if root.is_dir() else []
    if not old:
        return 0
    with found.app.transaction(found.connection):  # while it is open nobody leases a job and builds on its part
        held = {word for row in found.ask("leased_jobs") for word in row}
        stale = [part for part in old if not held & set(_words.findall(part.stem)) and _is_older(part, age)]
        for part in stale:
            part.unlink(missing_ok=True)
    return len(stale)


def _is_older(part: Path, age: float) -> bool:
    try:
        return part.is_file() and time.time() - part.lstat().st_mtime > age
    except FileNotFoundError:  # somebody has finished or removed it
        return False


def _finalized(found: Engine) -> list[Finalized]:
    """Return the jobs whose FINALIZE recorded a path, each with the latest one."""
    latest: dict[int, Finalized] = {}
    with found.app.transaction(found.connection):
        rows = found.ask("finalized")
    for job_id, state, result in rows:
        recorded: Any = json.loads(result)
        path = (recorded.get("final_path") or recorded.get("path")) if isinstance(recorded, dict) else None
        if isinstance(path, str) and path:
            sha256 = recorded.get("sha256")
            latest[job_id] = Finalized(job_id, state, Path(path), sha256 if isinstance(sha256, str) else None)
    return list(latest.values())


def _mend(found: Engine, final: Finalized, others: list[Finalized]) -> bool:
    for copy in _copies(final, others):
        final.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = final.path.with_name(f"{final.path.name}.{os.getpid()}.healing")
        shutil.copyfile(copy, unfinished)
        if hash_of(unfinished)[0] != final.sha256:
            unfinished.unlink()  # the other was being changed
            continue
        sync(str(unfinished))
        unfinished.replace(final.path)
        sync(str(final.path.parent))
        return True
    if final.state != states.FINALIZED:
        return False
    try:
        held = found.app.manual.hold(final.job_id, owner=f"reconciler {os.getpid()}", seconds=TTL_SECONDS)
    except JobNotFree:  # somebody goes on with it
        return False
    held.fail(Permanent(f"final_missing: {final.path} is gone", error_class="FINAL_MISSING"))
    return True


def _copies(final: Finalized, others: list[Finalized]) -> Iterator[Path]:
    for other in others:
        is_other = other.job_id != final.job_id and other.sha256 == final.sha256 and final.sha256 is not None
        if is_other and other.path.is_file() and hash_of(other.path)[0] == final.sha256:
            yield other.path
