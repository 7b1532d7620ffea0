"""`leasehold download`: a manifest in, every file on disk once; and what a person asks of a collection afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import click

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import PER_HOST, Collection, Settings
from leasehold.pipelines.download.manifest import Artifact, ManifestInvalid, read_manifest
from leasehold.pipelines.download.places import HOME
from leasehold.pipelines.download.running import Sight, run
from leasehold.pipelines.download.screen import Screen, counted, size_of

FOLDER: Final = click.Path(file_okay=False, path_type=Path)
EXISTING: Final = click.Path(exists=True, file_okay=False, path_type=Path)


class Download(click.Group):
    """A group whose first word may also be a manifest."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take a first word that is no verb for a manifest."""
        if args and args[0] not in self.commands and not args[0].startswith("--help"):
            args = ["fetch", *args]
        return super().resolve_command(context, args)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Let options of `fetch` stand before the manifest as well."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["fetch", *args]
        return super().parse_args(context, args)


@click.group(cls=Download, context_settings={"help_option_names": ["-h", "--help"]})
def download() -> None:
    r"""Have every file of a manifest on disk, once: resumed, hashed, deduplicated, indexed.

    \b
    leasehold download MANIFEST --out DIR     fetch; again: go on; a third time: nothing to do
    leasehold download status DIR             how far it is
    leasehold download find DIR TEXT          search what is there

    A manifest is JSON Lines with work_id, artifact_id, url and optional sha256 and filename, or a plain list of URLs.
    """


@download.command()
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
@click.option("--url", default="", metavar="URL", help="A database to share with workers elsewhere: postgresql://…")
@click.pass_context
def fetch(context: click.Context, /, manifest: Path, out: Path, workers: int, **given: Any) -> None:
    """Fetch every file of MANIFEST (- for standard input) into DIR."""
    artifacts = _read(manifest, tidy_query=given["tidy_query"])
    if given["dry_run"]:
        _tell(artifacts)
        return
    settings = Settings(out, given["url"], given["timeout"], given["max_bytes"], _headers(given["headers"]))
    with closing(Collection(settings)) as collection:
        collection.plan(artifacts)
        collection.limit(given["per_host"], given["rate"])
        sight = Sight(collection.counts())
        if sight.is_over:
            click.echo(f"Nothing to do: {counted(sight.counts)}.")
        else:
            with Screen() as screen:
                sight = run(collection, workers, screen.show)
            click.echo(f"{counted(sight.counts)}.")
        context.exit(1 if sight.counts.get(states.FAILED) else 0)


@download.command()
@click.argument("folder", metavar="DIR", type=EXISTING)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def status(folder: Path, *, as_json: bool) -> None:
    """Say how far a collection is."""
    with _opened(folder) as collection:
        counts = collection.counts()
    click.echo(json.dumps(counts) if as_json else counted(counts))


@download.command()
@click.argument("folder", metavar="DIR", type=EXISTING)
@click.argument("text", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines for programs.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True)
def find(folder: Path, text: tuple[str, ...], limit: int, *, as_json: bool) -> None:
    """Search what is on disk by any words of its name, host, work or address."""
    with _opened(folder) as collection:
        for row in collection.tools.index.find(" ".join(text), limit):
            fields = {name: getattr(row, name) for name in row.__slots__}
            click.echo(json.dumps(fields, ensure_ascii=False) if as_json else f"{size_of(row.size):>10}  {row.path}")


@contextmanager
def _opened(folder: Path) -> Iterator[Collection]:
    """Open a collection that is there."""
    if not (folder / HOME).is_dir():
        raise click.ClickException(
            f"{folder} is no collection; make one with: leasehold download MANIFEST --out {folder}"
        )
    with closing(Collection(Settings(folder))) as collection:
        yield collection


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
