"""The commands of `leasehold download` about an existing collection."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

import click

from leasehold.pipelines.download.collection import open_existing
from leasehold.pipelines.download.repair.reconcile import OPERATION_SECONDS, PART_SECONDS, Reconciled, reconcile
from leasehold.pipelines.download.repair.retry import retry
from leasehold.pipelines.download.repair.verify import OnProgress, verify
from leasehold.pipelines.download.reports.report import make_report, report_lines, report_page
from leasehold.pipelines.download.status import read_status, state_counts
from leasehold.pipelines.shell.options import EXISTING_FOLDER, help_with_examples, json_option, url_option
from leasehold.pipelines.shell.text import count, printable, size_text

COMMANDS: Final[list[click.Command]] = []
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


def _command(name: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command about DIR. Its docstring is its help."""

    def make(function: Callable[..., Any]) -> click.Command:
        text = help_with_examples(cleandoc(function.__doc__ or ""), [f"leasehold download {line}" for line in examples])
        folder = click.argument("folder", metavar="DIR", type=EXISTING_FOLDER)
        COMMANDS.append(click.command(name, help=text)(folder(url_option(function))))
        return COMMANDS[-1]

    return make


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
        for line in report_lines(found):
            click.echo(line)


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
    if not done.total:
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
    for line in repair_lines(done):
        click.echo(line)
    if done.is_quiet:
        click.echo("Nothing to repair.")


def repair_lines(done: Reconciled) -> Iterator[str]:
    """Yield what was repaired or found, one file per line."""
    for field, sentence in REPAIRS.items():
        yield from (f"{printable(name)}  {sentence}" for name in getattr(done, field))


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
