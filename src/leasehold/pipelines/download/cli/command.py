"""`leasehold download`: a manifest in, every file on disk once; and what a person asks of a collection afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from leasehold.pipelines.crew import Stop, stop_on_signals
from leasehold.pipelines.download import states
from leasehold.pipelines.download.cli import queries
from leasehold.pipelines.download.collection import PER_HOST, Collection, Settings
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.process.forked_workers import Children
from leasehold.pipelines.download.process.locate import addressed, opened
from leasehold.pipelines.download.repair.reconcile import reconcile
from leasehold.pipelines.download.reports.text import counted
from leasehold.pipelines.download.run_loop import WORDS, Snapshot, log_of, look, run, run_forked
from leasehold.pipelines.download.status import FINAL_MISSING

FOLDER: Final = click.Path(file_okay=False, path_type=Path)
SIGNALLED: Final = 128


class Download(click.Group):
    """A group whose first word may also be a manifest."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Take a first word that is no verb for a manifest; the address of the database may stand before it."""
        start = 2 if args[:1] == ["--url"] else 1 if args and args[0].startswith("--url=") else 0
        if len(args) > start and args[start] not in self.commands and args[start] not in ("-h", "--help"):
            args = [*args[:start], "fetch", *args[start:]]
        return super().parse_args(context, args)


TEXT: Final = """Have every file of a manifest on disk, once.

Resumed, hashed, deduplicated, indexed. A manifest is JSON Lines with work_id, artifact_id, url and optional sha256 and
filename, or a plain list of URLs."""


@click.group(
    cls=Download,
    help=queries.help_with_examples(
        TEXT,
        [
            "leasehold download papers.jsonl --out papers   fetch; again: go on; a third time: nothing to do",
            "leasehold download status papers               how far it is",
            "leasehold download report papers               what is here, what failed and why",
            "leasehold download retry papers                bring back what failed",
            "leasehold download find papers arxiv 2024      search what is here",
        ],
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@queries.url_option
def download(url: str) -> None:
    """Have every file of a manifest on disk, once."""


@download.command(
    help=queries.help_with_examples(
        "Fetch every file of MANIFEST (- for standard input) into DIR.\n\nThe word `fetch` may be left out. Ctrl-C"
        " stops cleanly, and the same command goes on where it was.",
        [
            "leasehold download fetch papers.jsonl --out papers",
            "leasehold download papers.jsonl --out papers --workers 4 --per-host 2 --rate 1",
        ],
    )
)
@click.argument("manifest", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--out", type=FOLDER, required=True, metavar="DIR", help="The collection's folder; made if it is not there."
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Worker processes.")
@click.option(
    "--per-host", type=click.IntRange(1, 1_000), default=PER_HOST, show_default=True, help="Files of one host at once."
)
@click.option("--rate", type=click.FloatRange(0.001, 1e6), help="Files of one host a second, at most, on average.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3_600), default=60.0, show_default=True, help="Seconds without a byte."
)
@click.option("--max-bytes", type=click.IntRange(1), help="Refuse files that are larger.")
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Sent to the manifest's hosts; never stored."
)
@click.option("--tidy-query", is_flag=True, help="Sort queries and drop tracking parameters before anything else.")
@click.option("--dry-run", is_flag=True, help="Say what would be fetched.")
@queries.url_option
@click.pass_context
def fetch(context: click.Context, /, manifest: Path, out: Path, workers: int, **given: Any) -> None:
    """Fetch every file of MANIFEST (- for standard input) into DIR."""
    artifacts = _read(manifest, tidy_query=given["tidy_query"])
    if given["dry_run"]:
        _tell(artifacts)
        return
    headers = _headers(given["headers"])
    settings = addressed(Settings(out, given["url"], given["timeout"], given["max_bytes"], headers))
    with (
        stop_on_signals() as stop,
        Children(settings, workers, WORDS, log_of(out)) as ready,
        opened(settings) as collection,
    ):
        _reconcile(collection)
        collection.limit(given["per_host"], given["rate"])
        collection.plan(artifacts, partial(_begin, collection, ready, stop))
        sight = _run(collection, workers, ready, stop)
    if stop.number is not None and not sight.is_over:
        click.echo(f"Stopped: {counted(sight.counts)}. The same command goes on where it was.")
        context.exit(SIGNALLED + stop.number)
    context.exit(1 if sight.counts.get(states.FAILED) or sight.counts.get(FINAL_MISSING) else 0)


def _begin(collection: Collection, ready: Children, stop: Stop) -> None:
    """Have the first files fetched while the rest is planned; where there is nothing to do, nobody begins."""
    if not ready.have_begun and not look(collection).is_over:
        ready.begin(stop)


def _run(collection: Collection, workers: int, ready: Children, stop: Stop) -> Snapshot:
    _begin(collection, ready, stop)  # there may be nothing planned now that was not planned before
    sight = look(collection)
    if sight.is_over and not ready.have_begun:
        click.echo(f"Nothing to do: {counted(sight.counts)}.")
        return sight
    with _drawn() as show:
        sight = run_forked(collection, ready.hands, show, stop) if ready.hands else run(collection, workers, show, stop)
    if sight.is_over:
        click.echo(f"{counted(sight.counts)}.")
    return sight


@contextmanager
def _drawn() -> Iterator[Callable[[Snapshot], None]]:
    """Have every moment drawn, where there is a terminal; where there is none nothing is even read that could."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from leasehold.pipelines.download.reports.progress import Screen

    with Screen() as screen:
        yield screen.show


def _reconcile(collection: Collection) -> None:
    """Put right what crashes and people left, and tell only of what there was."""
    for line in queries.told_reconciled(reconcile(collection)):
        click.echo(line, err=True)


for name, verb in (
    ("status", queries.status),
    ("find", queries.find),
    ("report", queries.report),
    ("export", queries.export),
    ("verify", queries.verify_command),
    ("retry", queries.retry_command),
    ("reconcile", queries.reconcile_command),
):
    download.add_command(verb, name)


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
        if not colon or not name.strip() or any(one in text for one in "\r\n\0"):
            raise click.BadParameter("a header is written 'Name: value'", param_hint="--header")
        found[name.strip()] = value.strip()
    return found


def _tell(artifacts: list[Artifact]) -> None:
    hosts: dict[str, int] = {}
    for artifact in artifacts:
        hosts[artifact.host] = hosts.get(artifact.host, 0) + 1
    click.echo(f"{len(artifacts):,} files from {len(hosts):,} hosts")
    for host, count in sorted(hosts.items(), key=lambda pair: -pair[1])[:20]:
        click.echo(f"{count:>10,}  {host}")
