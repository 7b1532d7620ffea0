"""The report of a collection: what was planned, what is on disk, what failed and why, what is missing."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from leasehold import Job
from leasehold.pipelines.download.collection import Collection
from leasehold.pipelines.download.index.index import missing_rows
from leasehold.pipelines.download.repair.job_history import artifact_key, failed_jobs
from leasehold.pipelines.download.run_loop import LABELS, read_status
from leasehold.pipelines.shell.html.page import Lead, PagePart, Tone, page
from leasehold.pipelines.shell.html.parts import Columns, facts, table
from leasehold.pipelines.shell.text import count, listed, printable, size_text


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that could not be downloaded."""

    key: str
    work_id: str
    artifact_id: str
    url: str
    error_class: str
    message: str


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file that was downloaded and is missing from disk."""

    key: str
    work_id: str
    artifact_id: str
    url: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Report:
    """The state of a collection. `bytes` counts every file; `bytes_saved`: what storing equal contents once saves."""

    planned: int
    counts: dict[str, int]
    left: int
    files: int
    bytes: int
    contents: int
    bytes_saved: int
    first_at: datetime | None
    last_at: datetime | None
    failed: tuple[FailedFile, ...]
    missing: tuple[MissingFile, ...]

    @property
    def is_well(self) -> bool:
        """Whether every planned file is on disk."""
        return not self.failed and not self.missing and not self.left

    @property
    def failed_by_class(self) -> dict[str, list[FailedFile]]:
        found: dict[str, list[FailedFile]] = {}
        for file in self.failed:
            found.setdefault(file.error_class, []).append(file)
        return dict(sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])))

    def plain(self) -> dict[str, Any]:
        """Return JSON fields, times in ISO 8601 (UTC)."""
        times = {name: at.isoformat() if (at := getattr(self, name)) else None for name in ("first_at", "last_at")}
        return asdict(self) | times


def make_report(collection: Collection) -> Report:
    now, summary = read_status(collection), collection.tools.index.summary()
    missing = missing_rows(collection.tools.index) if summary.missing else []
    return Report(
        planned=now.total,
        counts=now.counts,
        left=now.left,
        files=summary.files,
        bytes=summary.bytes,
        contents=summary.contents,
        bytes_saved=summary.bytes - summary.bytes_on_disk,
        first_at=_moment(summary.first_at),
        last_at=_moment(summary.last_at),
        failed=tuple(_failed(job) for job in failed_jobs(collection)),
        missing=tuple(MissingFile(*(getattr(row, name) for name in MissingFile.__slots__)) for row in missing),
    )


def _failed(job: Job) -> FailedFile:
    failure = job.failure or {}
    wanted = [str(job.payload.get(name, "")) for name in ("work_id", "artifact_id", "url")]
    cause = [str(failure.get(name, "")) for name in ("error_class", "message")]
    return FailedFile(artifact_key(job.key), *wanted, *cause)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def report_lines(report: Report) -> Iterator[str]:
    """Yield a report as text, with the first files of each error class."""
    yield f"planned    {report.planned:,} files"
    yield f"on disk    {report.files:,} files, {size_text(report.bytes)}"
    yield f"contents   {report.contents:,} distinct, {size_text(report.bytes_saved)} saved by deduplication"
    if report.left:
        yield f"left       {report.left:,} files"
    if report.first_at and report.last_at:
        yield f"downloaded {report.first_at:%Y-%m-%d %H:%M:%S} to {report.last_at:%Y-%m-%d %H:%M:%S} UTC"
    for error_class, found in report.failed_by_class.items():
        yield from _listed(f"{error_class}: {len(found):,} failed", [f"{file.url}  {file.message}" for file in found])
    if report.missing:
        lines = [f"{file.path}  {file.url}" for file in report.missing]
        yield from _listed(f"final_missing: {len(lines):,} were downloaded and are missing from disk", lines)


def _listed(title: str, lines: list[str]) -> Iterator[str]:
    return listed(title, [f"  {printable(line)}" for line in lines], "--json prints all")


def report_page(report: Report) -> str:
    parts = [PagePart("overview", "Overview", facts(_overview(report)))]
    for number, (error_class, found) in enumerate(report.failed_by_class.items(), start=1):
        rows = [(file.url, file.work_id, file.message) for file in found]
        title = f"{error_class}: {len(found):,} failed"
        parts.append(PagePart(f"failed-{number}", title, table(Columns(("URL", "work", "cause")), rows)))
    if report.missing:
        gone = [(file.path, file.url, file.sha256) for file in report.missing]
        listed_files = table(Columns(("file", "URL", "SHA-256")), gone)
        parts.append(PagePart("missing", "Downloaded, and missing from disk now", listed_files))
    return page("Download report", parts, _lead(report))


def _lead(report: Report) -> Lead:
    others = ((len(report.failed), "failed"), (len(report.missing), "missing from disk"), (report.left, "left to do"))
    also = "".join(f", {number:,} {word}" for number, word in others if number)
    tone = Tone.GOOD if report.is_well else Tone.BAD if report.failed or report.missing else Tone.BUSY
    return Lead(f"{report.files:,} of {count(report.planned, 'file')} on disk{also}.", tone)


def _overview(report: Report) -> list[tuple[str, str]]:
    rows = [
        ("planned", f"{report.planned:,} files"),
        ("on disk", f"{report.files:,} files, {size_text(report.bytes)}"),
        ("distinct contents", f"{report.contents:,}"),
        ("saved by deduplication", size_text(report.bytes_saved)),
        ("left to do", f"{report.left:,} files"),
    ]
    if report.first_at and report.last_at:
        rows += [
            ("first download", f"{report.first_at:%Y-%m-%d %H:%M:%S} UTC"),
            ("last download", f"{report.last_at:%Y-%m-%d %H:%M:%S} UTC"),
        ]
    return rows + [(f"{state} ({LABELS[state]})", f"{count:,}") for state, count in report.counts.items()]
