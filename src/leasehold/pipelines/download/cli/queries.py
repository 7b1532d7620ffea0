"""The verbs of `leasehold download` that are about a collection that is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from leasehold.pipelines.download.process.locate import existing
from leasehold.pipelines.download.repair.reconcile import OPERATION_SECONDS, PART_SECONDS, Reconciled, reconcile
from leasehold.pipelines.download.repair.retry import retry
from leasehold.pipelines.download.repair.verify import Told, verify
from leasehold.pipelines.download.reports.html import page_of
from leasehold.pipelines.download.reports.report import make_report, told_report
from leasehold.pipelines.download.reports.text import counted, shown, size_of
from leasehold.pipelines.download.status import standing

FOLDER: Final = click.Path(exists=True, file_okay=False, path_type=Path)
URL_KEY: Final = "leasehold.url"  # where the command keeps the address that it was given
AGE: Final = click.FloatRange(0, 1e9)
SENTENCES: Final = {
    "removed": "removed from staging, since nobody will build on it",
    "adopted": "was on disk and is in the index now",
    "unknown": "is on disk, and no job knows it",
    "changed": "is on disk with another content than its name says",
    "healed": "was missing and is here again",
    "linked": "was without its name and has it again",
    "final_missing": "is in the index and not on disk; bring it back with `retry`",
    "abandoned": "ABANDONED: begun and never heard of again; the next attempt does it again",
}


def _url(context: click.Context, _: click.Parameter, value: str) -> str:
    """Take the verb's own address or that of `leasehold --url`, and have errors leave out what is secret in it."""
    if value:
        context.meta[URL_KEY] = value
    return context.meta.get(URL_KEY) or ""


def url_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a verb be about a collection whose jobs lie in a database elsewhere."""
    option = click.option(
        "--url",
        default="",
        metavar="URL",
        callback=_url,
        help="The database, if it is not in the folder: postgresql://…  Others can read a command line: keep passwords"
        " in LEASEHOLD_URL, which is used where the folder was made with a database elsewhere.",
    )
    return option(function)


def help_with_examples(text: str, examples: list[str]) -> str:
    """Return the help of a verb: what it does, then how it looks."""
    return f"{text}\n\n\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)


def _verb(text: str, *examples: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a verb about DIR."""
    folder = click.argument("folder", metavar="DIR", type=FOLDER)
    command = click.command(help=help_with_examples(text, [f"leasehold download {example}" for example in examples]))
    return lambda function: command(folder(url_option(function)))


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


@_verb(
    "Say how far a collection is.",
    "status papers",
    "status papers --json",
)
@json_option
def status(folder: Path, url: str, *, as_json: bool) -> None:
    """Say how far a collection is."""
    with existing(folder, url) as collection:
        now = standing(collection)
    click.echo(json.dumps(now.counts) if as_json else counted(now.counts))


@_verb(
    "Search what is on disk by any words of its name, host, work or address.",
    "find papers arxiv 2024",
    "find papers arxiv --json",
)
@click.argument("text", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines for programs.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True)
def find(folder: Path, url: str, text: tuple[str, ...], limit: int, *, as_json: bool) -> None:
    """Search what is on disk by any words of its name, host, work or address."""
    with existing(folder, url) as collection:
        for row in collection.tools.index.find(" ".join(text), limit):
            click.echo(_line(asdict(row)) if as_json else f"{size_of(row.size):>10}  {shown(row.path)}")


@_verb(
    "Tell what was planned, what is here, what failed and why, and what went missing.",
    "report papers",
    "report papers --html > report.html",
)
@click.option("--html", "as_html", is_flag=True, help="Print one page that needs nothing else.")
@json_option
def report(folder: Path, url: str, *, as_json: bool, as_html: bool) -> None:
    """Tell what was planned, what is here, what failed and why, and what went missing."""
    if as_json and as_html:
        raise click.UsageError("--json and --html are two ways to print it; pass one.")
    with existing(folder, url) as collection:
        found = make_report(collection)
    if as_json:
        click.echo(json.dumps(found.plain(), ensure_ascii=False, indent=2))
    elif as_html:
        click.echo(page_of(found), nl=False)
    else:
        for line in told_report(found):
            click.echo(line)


@_verb(
    "Print the index as JSON Lines, one artifact a line, by key.",
    "export papers > papers.jsonl",
)
def export(folder: Path, url: str) -> None:
    """Print the index as JSON Lines, one artifact a line, by key."""
    with existing(folder, url) as collection:
        for row in collection.tools.index.rows():
            click.echo(_line(asdict(row)))


@_verb(
    "Read every file again and name what differs.\n\nA content that `changed` or is `missing`, a `link` that does not"
    " lead to its content, a file that is `unknown`. Exit code 1 if there is any.",
    "verify papers",
    "verify papers --json",
)
@json_option
@click.pass_context
def verify_command(context: click.Context, /, folder: Path, url: str, *, as_json: bool) -> None:
    """Read every file again and name what differs."""
    with existing(folder, url) as collection, _bar() as tell:
        found = verify(collection, tell)
    if as_json:
        click.echo(json.dumps(found.plain(), ensure_ascii=False))
    else:
        for one in found.differences:
            click.echo(f"{one.what:<8}  {shown(one.path)}")
        outcome = "all as they should be" if found.is_well else f"{len(found.differences):,} differences"
        click.echo(f"{found.files:,} files, {found.contents:,} contents, {size_of(found.bytes)} read: {outcome}.")
    context.exit(0 if found.is_well else 1)


@_verb(
    "Bring back what failed, and files that went missing.\n\nThe next run of `leasehold download MANIFEST`, or a"
    " worker that runs, fetches them.",
    "retry papers",
    "retry papers --class NETWORK_TIMEOUT",
    "retry papers --class final_missing",
)
@click.option("--class", "error_class", metavar="CLASS", help="Only these, e.g. NETWORK_TIMEOUT or final_missing.")
def retry_command(folder: Path, url: str, error_class: str | None) -> None:
    """Bring back what failed, and files that went missing."""
    with existing(folder, url) as collection:
        done = retry(collection, error_class)
    for reason in done.refused:
        click.echo(f"left as it was: {shown(reason)}")
    if not done.total:
        click.echo("Nothing to retry.")
        return
    click.echo(f"{done.revived:,} failed and {done.resubmitted:,} missing files are tried again.")
    click.echo(f"Run them with: leasehold download MANIFEST --out {folder}")


@_verb(
    "Bring folder, index and jobs together after crashes and people.\n\nNothing that is at work is touched, and no"
    " whole file is deleted. Every start does the same.",
    "reconcile papers",
    "reconcile papers --json",
)
@click.option("--part-age", type=AGE, default=PART_SECONDS, show_default=True, help="Seconds until a part is old.")
@click.option(
    "--op-age", type=AGE, default=OPERATION_SECONDS, show_default=True, help="Seconds until an operation is abandoned."
)
@json_option
def reconcile_command(folder: Path, url: str, part_age: float, op_age: float, *, as_json: bool) -> None:
    """Bring folder, index and jobs together."""
    with existing(folder, url) as collection:
        done = reconcile(collection, part_age=part_age, op_age=op_age)
    if as_json:
        click.echo(json.dumps(done.plain(), ensure_ascii=False))
        return
    for line in told_reconciled(done):
        click.echo(line)
    if done.is_quiet:
        click.echo("All is as it should be.")


def told_reconciled(done: Reconciled) -> Iterator[str]:
    """Yield what was done, one name a line."""
    for what, sentence in SENTENCES.items():
        yield from (f"{shown(name)}  {sentence}" for name in getattr(done, what))


@contextmanager
def _bar() -> Iterator[Told]:
    """Show how far a long reading has come, on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False)
