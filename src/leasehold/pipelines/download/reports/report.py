"""A report that can be trusted: what was planned, what is here, what failed and why, what went missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from leasehold import Job
from leasehold.pipelines.download.collection import Collection
from leasehold.pipelines.download.index.index import missing_rows
from leasehold.pipelines.download.repair.job_history import artifact_key, failed_jobs
from leasehold.pipelines.download.reports.text import shown, size_of
from leasehold.pipelines.download.status import standing

SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Failed:
    """One file that could not be had."""

    key: str
    work_id: str
    artifact_id: str
    url: str
    error_class: str
    message: str


@dataclass(frozen=True, slots=True)
class Missing:
    """One file that was here and is gone."""

    key: str
    work_id: str
    artifact_id: str
    url: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """A collection as it stands. Bytes are of files, each counted; `bytes_saved`: by keeping equal contents once."""

    planned: int
    counts: dict[str, int]
    left: int
    files: int
    bytes: int
    contents: int
    bytes_saved: int
    first_at: datetime | None
    last_at: datetime | None
    failed: tuple[Failed, ...]
    missing: tuple[Missing, ...]

    @property
    def is_well(self) -> bool:
        """Whether every file that was planned is here."""
        return not self.failed and not self.missing and not self.left

    @property
    def failed_by_class(self) -> dict[str, list[Failed]]:
        """What failed, by error class; the class with the most first."""
        found: dict[str, list[Failed]] = {}
        for one in self.failed:
            found.setdefault(one.error_class, []).append(one)
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON-able fields, times in ISO 8601 (UTC)."""
        times = {name: at.isoformat() if (at := getattr(self, name)) else None for name in ("first_at", "last_at")}
        return asdict(self) | times


def make_report(collection: Collection) -> Report:
    """Put together how a collection stands."""
    now, summary = standing(collection), collection.tools.index.summary()
    missing = missing_rows(collection.tools.index) if summary.missing else []
    return Report(
        planned=now.planned,
        counts=now.counts,
        left=now.left,
        files=summary.files,
        bytes=summary.bytes,
        contents=summary.contents,
        bytes_saved=summary.bytes - summary.bytes_on_disk,
        first_at=_moment(summary.first_at),
        last_at=_moment(summary.last_at),
        failed=tuple(_failed(job) for job in failed_jobs(collection)),
        missing=tuple(Missing(*(getattr(row, name) for name in Missing.__slots__)) for row in missing),
    )


def _failed(job: Job) -> Failed:
    failure = job.failure or {}
    told = job.payload
    return Failed(
        key=artifact_key(job.key),
        work_id=str(told.get("work_id", "")),
        artifact_id=str(told.get("artifact_id", "")),
        url=str(told.get("url", "")),
        error_class=str(failure.get("error_class", "")),
        message=str(failure.get("message", "")),
    )


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def told_report(report: Report) -> Iterator[str]:
    """Yield the lines of a report for people, at most so many of each class."""
    yield f"planned   {report.planned:,} files"
    yield f"here      {report.files:,} files, {size_of(report.bytes)}"
    yield f"contents  {report.contents:,} distinct, {size_of(report.bytes_saved)} saved by keeping each once"
    if report.left:
        yield f"left      {report.left:,} files"
    if report.first_at and report.last_at:
        yield f"fetched   {report.first_at:%Y-%m-%d %H:%M:%S} to {report.last_at:%Y-%m-%d %H:%M:%S} UTC"
    for error_class, found in report.failed_by_class.items():
        yield from _group(f"{error_class}: {len(found):,} failed", [f"{one.url}  {one.message}" for one in found])
    if report.missing:
        lines = [f"{one.path}  {one.url}" for one in report.missing]
        yield from _group(f"final_missing: {len(lines):,} were here and are gone", lines)


def _group(title: str, lines: list[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {shown(line)}" for line in lines[:SHOWN_MAX])
    if len(lines) > SHOWN_MAX:
        yield f"  … and {len(lines) - SHOWN_MAX:,} more; --json has all"
