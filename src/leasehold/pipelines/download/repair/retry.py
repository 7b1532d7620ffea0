"""Retry: revive dead letters, and fetch missing files again."""

from collections import Counter
from dataclasses import dataclass

from leasehold import Job
from leasehold.errors import Misuse
from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import KIND, Collection, branch_of
from leasehold.pipelines.download.http.urls import host_of
from leasehold.pipelines.download.index.index import Row, missing_rows
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.repair.job_history import failed_letters, newest_jobs, version_of

EVIDENCE = "retried with leasehold download"


class ClassUnknown(Misuse, code="CLASS_UNKNOWN"):
    """Nothing failed with this class."""


@dataclass(frozen=True, slots=True)
class Retried:
    """How many failed jobs run again, how many missing files are fetched again, and why others are not."""

    revived: int = 0
    resubmitted: int = 0
    refused: tuple[str, ...] = ()


def retry(collection: Collection, error_class: str | None = None) -> Retried:
    """Bring back all that failed, or what failed with one class; running it is for workers."""
    known = Counter(letter.error_class for letter in failed_letters(collection))
    known += Counter({states.FINAL_MISSING: collection.tools.index.summary().missing})
    if error_class is not None and error_class not in known:
        there = ", ".join(f"{name} ({count:,})" for name, count in sorted(known.items()))
        raise ClassUnknown(f"It is {error_class[:80]!r}; there are: {there or 'none, since nothing failed'}.")
    revived, refused = (0, ()) if error_class == states.FINAL_MISSING else _revive(collection, error_class)
    is_asked_for = error_class in (None, states.FINAL_MISSING) and known[states.FINAL_MISSING]
    lost = missing_rows(collection.tools.index) if is_asked_for else []
    return Retried(revived, _resubmit(collection, lost), refused)


def _revive(collection: Collection, error_class: str | None) -> tuple[int, tuple[str, ...]]:
    letters = collection.app.deadletters
    letters.evidence_many(EVIDENCE, kind=KIND, error_class=error_class)
    report = letters.revive_many(kind=KIND, error_class=error_class)
    return len(report.done), tuple(one.reason for one in report.refused)


def _resubmit(collection: Collection, lost: list[Row]) -> int:
    """Ask for each missing file under the next version of its job; one that was asked for and waits is left alone."""
    jobs = newest_jobs(collection) if lost else {}
    for row in lost:
        version = _again(collection, row, jobs.get(row.key))
        # If we die here the row stays; the next retry finds the version and only takes the row out.
        collection.tools.index.record_rerun(row.key, version)
    return len(lost)


def _again(collection: Collection, row: Row, job: Job | None) -> int:
    """Submit the next version of a job, and return which it is."""
    if job is None:  # pruned: its row has the request
        wanted = Artifact(row.work_id, row.artifact_id, row.url, filename=row.name).fields()
        collection.app.submit(collection.kind, wanted, key=row.key, branch=branch_of(row.host))
        return 0
    version = version_of(job.key)
    if job.status.settled:
        version += 1
        where = branch_of(host_of(row.url))
        collection.app.submit(collection.kind, job.payload, key=row.key, version=version, branch=where)
    return version
