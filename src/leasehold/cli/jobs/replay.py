"""`leasehold replay`: a record, run again by the handlers of an app, with nothing done to the outside world."""

from pathlib import Path

import click
from msgspec import to_builtins

from leasehold import canonical
from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.modules import find_app
from leasehold.cli.options import help_with_examples, json_option, url_option
from leasehold.cli.table import echo
from leasehold.cli.text import count, printable
from leasehold.redact import scrub
from leasehold.runtime.replay.ledger import Divergence
from leasehold.runtime.replay.replayer import Replay


@click.command(
    help=help_with_examples(
        "Replay a record.\n\nEvery task that a handler ended runs again with its recorded payload, inputs and effects."
        " The outcome is compared with the record, as are retries, with the recorded clock and jitter. No effect is"
        " done, no database is opened. The answer is `equal`, or the first divergence; its bytes are the same on every"
        " machine.",
        ["leasehold replay job.ndjson shop.jobs:app", "leasehold replay job.ndjson shop.jobs:app --json"],
    )
)
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name", metavar="MODULE:APP")
@json_option
@url_option
def replay(file: Path, name: str, *, as_json: bool) -> None:
    app = find_app(name)
    app.close()  # a handler that writes outside its effects finds no database
    found = app.journal.replay(file)
    if as_json:
        echo(canonical.encode(to_builtins(found)))
    else:
        _print(found)
    click.get_current_context().exit(ExitCode.OK if found.equal else ExitCode.CHECK_FAILED)


def _print(found: Replay) -> None:
    if found.divergence is not None:
        echo(printable(scrub(f"diverged: {_sentence(found.divergence)}")))
        return
    ran = f"{count(found.tasks, 'task')} run again, {found.journal_only} checked by the journal alone"
    echo(f"equal: {ran}, {count(found.effects, 'effect')} answered from the record")
    echo(f"digest {found.digest}")


def _sentence(found: Divergence) -> str:
    part = "" if found.segment is None else f" [{found.segment}]"
    where = f"task {found.task}" if found.stage is None else f"task {found.task} ({found.stage}{part})"
    expected, seen = (value if value is not None else "absent" for value in (found.expected, found.found))
    return f"{where}: {found.what} should be {expected} and is {seen}"
