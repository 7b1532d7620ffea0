"""The pipeline from Python: plan, run, report; the same as the command, with the same options."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from leasehold.pipelines.download.collection import PER_HOST, Settings, open_collection, open_existing
from leasehold.pipelines.download.manifest import Artifact, read_manifest
from leasehold.pipelines.download.reports.report import Report, make_report
from leasehold.pipelines.download.run_loop import RunOptions, worker_spec
from leasehold.pipelines.download.run_loop import run as run_until_over
from leasehold.processes import WorkerProcesses

Manifest = str | Path | Iterable[str | Artifact]


@dataclass(frozen=True, slots=True)
class PlannedFiles:
    """The keys of the planned jobs, in order, each once."""

    keys: tuple[str, ...]


def plan(manifest: Manifest, out: str | Path, *, url: str = "", tidy_query: bool = False) -> PlannedFiles:
    artifacts = read(manifest, tidy_query=tidy_query)
    with open_collection(Settings(Path(out), url)) as collection:
        return PlannedFiles(tuple(job.key for job in collection.plan(artifacts)))


def read(manifest: Manifest, *, tidy_query: bool = False) -> list[Artifact]:
    """Return the artifacts of a manifest; `ManifestInvalid` names each line that cannot be read."""
    if isinstance(manifest, str | Path):
        with Path(manifest).open(encoding="utf-8") as lines:
            return read_manifest(lines, tidy_query=tidy_query)
    entries = list(manifest)
    lines_only = [entry for entry in entries if isinstance(entry, str)]
    if len(lines_only) == len(entries):
        return read_manifest(lines_only, tidy_query=tidy_query)
    found: dict[str, Artifact] = {}
    for entry in entries:
        artifact = entry if isinstance(entry, Artifact) else read_manifest([entry], tidy_query=tidy_query)[0]
        found[artifact.key] = artifact
    return list(found.values())


def run(
    out: str | Path,
    *,
    workers: int = 2,
    per_host: int = PER_HOST,
    rate: float | None = None,
    timeout: float = 60.0,
    max_bytes: int | None = None,
    headers: Mapping[str, str] | None = None,
    url: str = "",
) -> Report:
    """Download what was planned in worker processes until nothing is left, and report.

    An interrupt stops the workers; run again to resume.
    """
    settings = Settings(Path(out), url, timeout, max_bytes, headers or {})
    with (
        open_collection(settings) as collection,
        WorkerProcesses(worker_spec(collection.settings), workers) as processes,
    ):
        run_until_over(collection, (), RunOptions(per_host, rate), processes)
        return make_report(collection)


def report(out: str | Path, *, url: str = "") -> Report:
    """Report what was planned, what is on disk, what failed and why, and what is missing."""
    with open_existing(Path(out), url) as collection:
        return make_report(collection)
