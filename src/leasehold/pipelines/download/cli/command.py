"""`leasehold download`: download every file of a manifest once, and commands about an existing collection."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from leasehold.pipelines.download.collection import PER_HOST, Settings, open_collection, open_existing, with_database
from leasehold.pipelines.download.limits import OPERATION_SECONDS, PART_SECONDS
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.download.repair.retry import retry
from leasehold.pipelines.download.repair.verify import OnProgress, verify
from leasehold.pipelines.download.reports.report import make_report, report_lines, report_page
from leasehold.pipelines.download.run_loop import RunOptions, read_status, run, state_counts, worker_spec
from leasehold.pipelines.shell.options import (
    CONTEXT,
    SIGNALLED,
    GroupWithDefault,
    folder_command,
    help_with_examples,
    json_option,
    url_option,
    workers_option,
)
from leasehold.pipelines.shell.run_loop import live_display
from leasehold.pipelines.shell.text import count, printable, size_text
from leasehold.processes import WorkerProcesses, forked_processes, stop_on_signals

if TYPE_CHECKING:
    from leasehold.pipelines.download.reports.progress import DownloadRenderer

FOLDER: Final = click.Path(file_okay=False, path_type=Path)
HOSTS_SHOWN: Final = 20
AGE: Final = click.FloatRange(0, 1e9)
REPAIRS: Final = {
    "removed": "removed from staging: no attempt will resume it",
    "adopted": "was on disk, and is in the index now",
    "unknown": "is on disk, but belongs to no job",
    "changed": "is on disk, but its content does not match its name",
    "healed": "was missing, and is restored",
    "linked": "had lost its link, and has it again",
    "final_missing": "is in the index, but not on disk; use `retry` to download it again",
    "abandoned": "ABANDONED: started and never finished; the next attempt repeats it",
}


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
    artifacts = _read(manifest, tidy_query=given["tidy_query"])
    if given["dry_run"]:
        hosts = Counter(artifact.host for artifact in artifacts)
        click.echo(f"{count(len(artifacts), 'file')} from {count(len(hosts), 'host')}")
        for host, files in hosts.most_common(HOSTS_SHOWN):
            click.echo(f"{files:>10,}  {host}")
        return
    headers = _headers(given["headers"])
    settings = with_database(Settings(out, given["url"], given["timeout"], given["max_bytes"], headers))
    with (
        stop_on_signals() as stop,
        forked_processes(workers) as forked,
        WorkerProcesses(worker_spec(settings), workers, stop, forked) as processes,
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


def _print_repairs(done: Reconciled, *, err: bool = True) -> None:
    for field, sentence in REPAIRS.items():
        for name in getattr(done, field):
            click.echo(f"{printable(name)}  {sentence}", err=err)


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


_command = partial(folder_command, download, "DIR")  # about an existing collection


@_command("status", "status papers", "status papers --json")
@json_option
def status(folder: Path, url: str, *, as_json: bool) -> None:
    """Show how far a collection is."""
    with open_existing(folder, url) as collection:
        now = read_status(collection)
    click.echo(json.dumps(now.counts) if as_json else state_counts(now.counts))


@_command("find", "find papers arxiv 2024", "find papers arxiv --json")
@click.argument("text", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines for programs.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True)
def find(folder: Path, url: str, text: tuple[str, ...], limit: int, *, as_json: bool) -> None:
    """Search the downloaded files by words of their name, host, work or URL."""
    with open_existing(folder, url) as collection:
        for row in collection.tools.index.find(" ".join(text), limit):
            click.echo(_line(asdict(row)) if as_json else f"{size_text(row.size):>10}  {printable(row.path)}")


@_command("report", "report papers", "report papers --html > report.html")
@click.option("--html", "as_html", is_flag=True, help="Print one self-contained HTML page.")
@json_option
def report(folder: Path, url: str, *, as_json: bool, as_html: bool) -> None:
    """Report what was planned, what is on disk, what failed and why, and what is missing."""
    if as_json and as_html:
        raise click.UsageError("--json and --html exclude each other; pass one.")
    with open_existing(folder, url) as collection:
        found = make_report(collection)
    if as_json:
        click.echo(json.dumps(found.plain(), ensure_ascii=False, indent=2))
    elif as_html:
        click.echo(report_page(found), nl=False)
    else:
        click.echo("\n".join(report_lines(found)))


@_command("export", "export papers > papers.jsonl")
def export(folder: Path, url: str) -> None:
    """Print the index as JSON Lines, one artifact per line, sorted by key."""
    with open_existing(folder, url) as collection:
        for row in collection.tools.index.rows():
            click.echo(_line(asdict(row)))


@_command("verify", "verify papers", "verify papers --json")
@json_option
@click.pass_context
def verify_command(context: click.Context, /, folder: Path, url: str, *, as_json: bool) -> None:
    """Read every file again and list what differs.

    A content that `changed` or is `missing`, a `link` that does not lead to its content, a file that is `unknown`. The
    exit code is 1 if anything differs.
    """
    with open_existing(folder, url) as collection, _reading_bar() as report_progress:
        found = verify(collection, report_progress)
    if as_json:
        click.echo(_line(found.plain()))
    else:
        for difference in found.differences:
            click.echo(f"{difference.what:<8}  {printable(difference.path)}")
        outcome = "no differences" if found.is_well else count(len(found.differences), "difference")
        read = f"{count(found.files, 'file')}, {count(found.contents, 'content')}, {size_text(found.bytes)} read"
        click.echo(f"{read}: {outcome}.")
    context.exit(0 if found.is_well else 1)


@_command("retry", "retry papers", "retry papers --class NETWORK_TIMEOUT", "retry papers --class final_missing")
@click.option(
    "--class", "error_class", metavar="CLASS", help="Only this error class, e.g. NETWORK_TIMEOUT, or final_missing."
)
def retry_command(folder: Path, url: str, error_class: str | None) -> None:
    """Retry what failed, and files that are missing from disk.

    The next run of `leasehold download MANIFEST`, or a running worker, downloads them.
    """
    with open_existing(folder, url) as collection:
        done = retry(collection, error_class)
    for reason in done.refused:
        click.echo(f"not retried: {printable(reason)}")
    if not done.revived and not done.resubmitted:
        click.echo("Nothing to retry.")
        return
    click.echo(f"{done.revived:,} failed and {done.resubmitted:,} missing files will be retried.")
    click.echo(f"Download them with: leasehold download MANIFEST --out {folder}")


@_command("reconcile", "reconcile papers", "reconcile papers --json")
@click.option("--part-age", type=AGE, default=PART_SECONDS, show_default=True, help="Seconds until a part file is old.")
@click.option(
    "--op-age", type=AGE, default=OPERATION_SECONDS, show_default=True, help="Seconds until an operation is abandoned."
)
@json_option
def reconcile_command(folder: Path, url: str, part_age: float, op_age: float, *, as_json: bool) -> None:
    """Repair differences between folder, index and jobs, as crashes and manual changes leave them.

    Running jobs are not touched, and no complete file is deleted. Every run of `leasehold download MANIFEST` does the
    same first.
    """
    with open_existing(folder, url) as collection:
        done = reconcile(collection, part_age=part_age, op_age=op_age)
    if as_json:
        click.echo(_line(done.plain()))
        return
    _print_repairs(done, err=False)
    if done.is_quiet:
        click.echo("Nothing to repair.")


@contextmanager
def _reading_bar() -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)
