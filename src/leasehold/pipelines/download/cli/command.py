"""`leasehold download`: download every file of a manifest once, and commands about the result."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from leasehold.pipelines.download.cli import queries
from leasehold.pipelines.download.collection import PER_HOST, Settings, open_collection, with_database
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.repair.reconcile import Reconciled
from leasehold.pipelines.download.run_loop import RunOptions, run, worker_spec
from leasehold.pipelines.download.status import state_counts
from leasehold.pipelines.shell.options import (
    CONTEXT,
    SIGNALLED,
    GroupWithDefault,
    help_with_examples,
    url_option,
    workers_option,
)
from leasehold.pipelines.shell.run_loop import live_display
from leasehold.pipelines.shell.text import count
from leasehold.processes import WorkerProcesses, stop_on_signals

if TYPE_CHECKING:
    from leasehold.pipelines.download.reports.progress import DownloadRenderer

FOLDER: Final = click.Path(file_okay=False, path_type=Path)
HOSTS_SHOWN: Final = 20


@click.group(
    cls=GroupWithDefault.of("fetch"),
    help=help_with_examples(
        "Download every file of a manifest once.\n\nDownload; run again to resume; a third run finds nothing to do."
        " Files are resumed, hashed, deduplicated and indexed. A manifest is JSON Lines with work_id, artifact_id, url"
        " and optional sha256 and filename, or a plain list of URLs.",
        [
            "leasehold download papers.jsonl --out papers   download, or resume",
            "leasehold download status papers               show how far it is",
            "leasehold download report papers               show what is on disk, what failed and why",
            "leasehold download retry papers                retry what failed",
            "leasehold download find papers arxiv 2024      search the downloaded files",
        ],
    ),
    context_settings=CONTEXT,
)
@url_option
def download(url: str) -> None:
    """Download every file of a manifest once."""


@download.command(
    help=help_with_examples(
        "Download every file of MANIFEST (- for standard input) into DIR.\n\nThe word `fetch` may be left out. Ctrl-C"
        " stops cleanly; run the same command again to resume.",
        [
            "leasehold download fetch papers.jsonl --out papers",
            "leasehold download papers.jsonl --out papers --workers 4 --per-host 2 --rate 1",
        ],
    )
)
@click.argument("manifest", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--out", type=FOLDER, required=True, metavar="DIR", help="The collection's folder; created if missing.")
@workers_option(2)
@click.option(
    "--per-host", type=click.IntRange(1, 1_000), default=PER_HOST, show_default=True, help="Files of one host at once."
)
@click.option("--rate", type=click.FloatRange(0.001, 1e6), help="Files of one host per second, at most, on average.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3_600), default=60.0, show_default=True, help="Seconds without a byte."
)
@click.option("--max-bytes", type=click.IntRange(1), help="Refuse larger files.")
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to the manifest's hosts; never stored."
)
@click.option("--tidy-query", is_flag=True, help="Sort query parameters and drop tracking parameters of every URL.")
@click.option("--dry-run", is_flag=True, help="Only show what would be downloaded.")
@url_option
@click.pass_context
def fetch(context: click.Context, /, manifest: Path, out: Path, workers: int, **given: Any) -> None:
    """Download every file of MANIFEST into DIR."""
    artifacts = _read(manifest, tidy_query=given["tidy_query"])
    if given["dry_run"]:
        _print_hosts(artifacts)
        return
    headers = _headers(given["headers"])
    settings = with_database(Settings(out, given["url"], given["timeout"], given["max_bytes"], headers))
    with (
        stop_on_signals() as stop,
        WorkerProcesses(worker_spec(settings), workers, stop, prefork=True) as processes,
        open_collection(settings) as collection,
        live_display(_renderer) as show,
    ):
        options = RunOptions(given["per_host"], given["rate"], _print_repairs, show)
        last = run(collection, artifacts, options, processes)
    counts = state_counts(last.counts)
    if stop.number is not None and not last.is_over:
        click.echo(f"Stopped: {counts}. Run the same command again to resume.")
        context.exit(SIGNALLED + stop.number)
    click.echo(f"{counts}." if processes.have_started else f"Nothing to do: {counts}.")
    context.exit(0 if last.is_well else 1)


def _renderer() -> DownloadRenderer:
    from leasehold.pipelines.download.reports.progress import DownloadRenderer

    return DownloadRenderer()


def _print_repairs(done: Reconciled) -> None:
    for line in queries.repair_lines(done):
        click.echo(line, err=True)


for command in queries.COMMANDS:
    download.add_command(command)


def _read(manifest: Path, *, tidy_query: bool) -> list[Artifact]:
    try:
        if str(manifest) == "-":
            return read_manifest(sys.stdin, tidy_query=tidy_query)
        with manifest.open(encoding="utf-8") as lines:
            return read_manifest(lines, tidy_query=tidy_query)
    except ManifestInvalid as error:
        raise click.ClickException(f"{manifest} cannot be read; nothing was planned.\n{error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{manifest} cannot be read: {error}") from None


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or any(control in text for control in "\r\n\0"):
            raise click.BadParameter("write a header as 'Name: value'", param_hint="--header")
        found[name.strip()] = value.strip()
    return found


def _print_hosts(artifacts: list[Artifact]) -> None:
    hosts = Counter(artifact.host for artifact in artifacts)
    click.echo(f"{count(len(artifacts), 'file')} from {count(len(hosts), 'host')}")
    for host, files in hosts.most_common(HOSTS_SHOWN):
        click.echo(f"{files:>10,}  {host}")
