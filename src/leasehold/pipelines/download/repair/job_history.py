"""What the engine's database knows of a collection's jobs, read by public names alone.

Both walks read the whole journal, and `newest_jobs` every job as well: for repairs, never for what is asked often.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from leasehold import Job
from leasehold.errors import JobUnknown
from leasehold.pipelines.download.collection import KIND, Collection

LETTERS_MAX: Final = 500
SUBMITTED: Final = "submitted"
BEGUN: Final = ("claimed", "revived")
ENDED: Final = ("done", "failed", "cancelled", "superseded")


@dataclass(frozen=True, slots=True)
class Operation:
    """One effect of a job. `is_open`: intended, and nothing was heard of it since; `began_at`: seconds since 1970."""

    kind: str
    began_at: float
    is_open: bool
    result: Any


def begun_jobs(collection: Collection) -> list[Job]:
    """Return the jobs that somebody has worked on and that have not ended."""
    begun: dict[int, None] = {}
    for line in collection.app.journal.follow():
        if line.kind == KIND and line.name in BEGUN:
            begun[line.job_id] = None
        elif line.name in ENDED:
            begun.pop(line.job_id, None)
    found = [job for job_id in begun for job in _read(collection, job_id)]
    return [job for job in found if not job.status.settled]


def _read(collection: Collection, job_id: int) -> list[Job]:
    try:
        return [collection.app.get(job_id)]
    except JobUnknown:
        return []  # pruned meanwhile


def newest_jobs(collection: Collection) -> dict[str, Job]:
    lines = (line for line in collection.app.journal.follow() if line.kind == KIND and line.name == SUBMITTED)
    return {artifact_key(job.key): job for line in lines for job in _read(collection, line.job_id)}


def artifact_key(job_key: str) -> str:
    return job_key.partition("@")[0]


def version_of(job_key: str) -> int:
    return int(job_key.partition("@")[2] or 0)


def failed_letters(collection: Collection) -> Iterator[Any]:
    """Yield the dead letters of jobs that were not brought back, newest first."""
    before: int | None = None
    while page := collection.app.deadletters.list(kind=KIND, state="open", before=before, limit=LETTERS_MAX):
        yield from page
        before = page[-1].id


def failed_jobs(collection: Collection) -> Iterator[Job]:
    """Yield the jobs that failed for good and were not brought back, newest first."""
    for letter in failed_letters(collection):
        yield from _read(collection, letter.job_id)


def operations_of(collection: Collection, job: Job) -> list[Operation]:
    """Return what a job has done and was about to do, in order."""
    record = io.BytesIO()
    try:
        collection.app.journal.export(job.id, record)
    except JobUnknown:
        return []
    lines = [line for line in map(json.loads, record.getvalue().splitlines()) if line["line"] == "effect"]
    return [Operation(line["kind"], line["intended_at"] / 1e6, _is_open(line), line.get("result")) for line in lines]


def _is_open(line: dict[str, Any]) -> bool:
    return line.get("recorded_at") is None and "failure" not in line
