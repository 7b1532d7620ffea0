"""`leasehold events`: the journal, on the screen or in a file that follows it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from leasehold import clock
from leasehold.cli.limits import FOLLOW_SECONDS
from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import echo
from leasehold.cli.text import count, json_line, printable, stage_text
from leasehold.errors import OptionInvalid
from leasehold.insight.journal import Follower, Projection, compare, encode, page, plain
from leasehold.insight.read import jobs
from leasehold.model.names import route
from leasehold.store import Store
from leasehold.store.journal import JournalLine


@command(
    "leasehold events 4711", "leasehold events --after 1200 --json", "leasehold events --follow --out journal.ndjson"
)
@click.argument("job_id", metavar="[JOB]", type=JOB_ID, required=False)
@click.option("--follow", is_flag=True, help="Print new lines until Ctrl-C.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Append to this file.")
@click.option("--after", metavar="ID", type=click.IntRange(0, 2**63 - 1), help="Only lines after this one.")
@json_option
def events(job_id: int | None, *, follow: bool, out: Path | None, after: int | None, as_json: bool) -> None:
    """Show the journal.

    Of one job, or of all, in the order of its numbers. --follow prints new lines until Ctrl-C. --out keeps it as lines
    of JSON in a file that survives a crash: the same command continues after its last whole line. One process writes to
    a file at a time; a file that was edited, or is of another job or database, is refused.
    """
    if out is not None and after is not None:
        raise OptionInvalid("--out continues where its file ends; drop --after.")
    with open_app() as app:
        if job_id is not None:
            jobs.find(app.store, job_id, whole=False)
        if out is not None:
            project(app.store, job_id, out, follow=follow)
            return
        pages = followed(Follower(app.store, job_id, after or 0)) if follow else current(app.store, job_id, after or 0)
        for lines in pages:
            for line in lines:
                echo(encode(line).decode("utf-8").rstrip("\n") if as_json else _shown(line))


def current(store: Store, job_id: int | None, after: int) -> Iterator[list[JournalLine]]:
    while lines := page(store, job_id, after):
        yield lines
        after = lines[-1].id


def followed(follower: Follower) -> Iterator[list[JournalLine]]:
    pause = threading.Event()
    while True:
        if lines := follower.read():
            yield lines
        else:
            pause.wait(FOLLOW_SECONDS)


def project(store: Store, job_id: int | None, path: Path, *, follow: bool) -> None:
    """Append the journal to a file, after its last line."""
    with Projection(path) as file:
        compare(store, job_id, file)
        if torn := file.repair():
            echo(f"{printable(path)}: a torn last line of {count(torn, 'byte')} was cut off", error=True)
        follower = Follower(store, job_id, file.last)
        written = 0
        for lines in followed(follower) if follow else iter(follower.read, []):
            file.append([encode(line) for line in lines])
            written += len(lines)
        echo(f"{printable(path)}: {count(written, 'line')} added", error=True)


def _shown(line: JournalLine) -> str:
    fields: dict[str, Any] = plain(line)
    where = stage_text(route(line.kind, line.stage), line.segment)
    words = [str(line.id), f"{clock.moment(line.at):%Y-%m-%d %H:%M:%S.%f}", f"job {line.job_id}", where, line.name]
    words += [f"{name} {fields[name]}" for name in ("attempt", "worker") if name in fields]
    if "detail" in fields:
        words.append(json_line({name: value for name, value in fields["detail"].items() if name != "stack"}))
    return printable("  ".join(words))
