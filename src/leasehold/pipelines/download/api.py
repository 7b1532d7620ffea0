"""The pipeline from Python: plan, run, report; the same as the command, with the same options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from leasehold.pipelines.download.collection import PER_HOST, Settings
from leasehold.pipelines.download.manifest import Artifact, read_manifest
from leasehold.pipelines.download.process.locate import existing, opened
from leasehold.pipelines.download.repair.reconcile import reconcile
from leasehold.pipelines.download.reports.report import Report, make_report
from leasehold.pipelines.download.run_loop import look
from leasehold.pipelines.download.run_loop import run as run_to_end

Wanted = str | Path | Iterable[str | Artifact]


@dataclass(frozen=True, slots=True)
class Planned:
    """What was planned: the keys of its jobs, in order, each once."""

    keys: tuple[str, ...]


def plan(manifest: Wanted, out: str | Path, *, url: str = "", tidy_query: bool = False) -> Planned:
    """Plan every file of a manifest: its path, its lines, or artifacts. Planned before, it is planned once."""
    artifacts = read(manifest, tidy_query=tidy_query)
    with opened(Settings(Path(out), url)) as collection:
        return Planned(tuple(job.key for job in collection.plan(artifacts)))


def read(manifest: Wanted, *, tidy_query: bool = False) -> list[Artifact]:
    """Return the artifacts of a manifest; `ManifestInvalid` names each line that cannot be read."""
    if isinstance(manifest, str | Path):
        with Path(manifest).open(encoding="utf-8") as lines:
            return read_manifest(lines, tidy_query=tidy_query)
    given = list(manifest)
    lines_alone = [one for one in given if isinstance(one, str)]
    if len(lines_alone) == len(given):
        return read_manifest(lines_alone, tidy_query=tidy_query)
    return list({one.key: one for one in (_artifact(one, tidy_query=tidy_query) for one in given)}.values())


def _artifact(one: str | Artifact, *, tidy_query: bool) -> Artifact:
    return one if isinstance(one, Artifact) else read_manifest([one], tidy_query=tidy_query)[0]


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
    """Have worker processes fetch what was planned until nothing is left, and report.

    An interrupt stops the workers; run again to go on.
    """
    settings = Settings(Path(out), url, timeout, max_bytes, headers or {})
    with opened(settings) as collection:
        reconcile(collection)
        collection.limit(per_host, rate)
        if not look(collection).is_over:
            run_to_end(collection, workers, lambda _: None)
        return make_report(collection)


def report(out: str | Path, *, url: str = "") -> Report:
    """Tell what was planned, what is here, what failed and why, and what went missing."""
    with existing(Path(out), url) as collection:
        return make_report(collection)
