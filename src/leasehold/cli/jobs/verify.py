"""`leasehold verify`: check that a job's tables, or an exported record, match its journal and its hashes."""

from pathlib import Path

import click
from msgspec import structs

from leasehold import canonical
from leasehold.canonical import INTEGER_MAX
from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.options import help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import echo
from leasehold.cli.text import count, printable
from leasehold.errors import RecordDamaged
from leasehold.insight.verify.verify import Verification, verify_file, verify_job
from leasehold.redact import scrub

DIGITS_MAX = 19


@click.command(
    help=help_with_examples(
        "Check a job, or an exported record.\n\nJOB: compute the job from its events, compare it with every table, and"
        " check the hash chain. FILE: check the hash of every line, and that outcomes follow from events. Prints the"
        " first difference and the head of the hash chain. Keep the head: --head checks later that the events are"
        " still the same.",
        [
            "leasehold verify 4711",
            "leasehold verify job.ndjson",
            "leasehold verify 4711 --head 5d41402abc4b2a76b9719d911017c592…",
        ],
    )
)
@click.argument("target", metavar="JOB|FILE")
@click.option("--head", metavar="HASH", help="The head as printed earlier.")
@json_option
@url_option
def verify(target: str, *, head: str | None, as_json: bool) -> None:
    """Check a job or a record."""
    found = _verify(target)
    if found.equal and head is not None and head.lower() != found.head:
        difference = f"the head of the events should be {head} and is {found.head}"
        found = structs.replace(found, equal=False, difference=difference)
    if as_json:
        echo(canonical.encode(structs.asdict(found)))
    else:
        _print(found)
    click.get_current_context().exit(ExitCode.OK if found.equal else ExitCode.CHECK_FAILED)


def _verify(target: str) -> Verification:
    if not (target.isascii() and target.isdigit() and len(target) <= DIGITS_MAX):
        if not Path(target).exists():
            raise RecordDamaged(f"{target} cannot be read: No such file or directory.")
        return verify_file(Path(target))
    with open_app() as app:
        return verify_job(app.store, min(int(target), INTEGER_MAX))


def _print(found: Verification) -> None:
    if found.difference:
        echo(printable(scrub(f"different: {found.difference}", entropy=False)))
        return
    parts = (count(found.tasks, "task"), count(found.events, "event"), count(found.effects, "effect"))
    echo(f"equal: {', '.join(parts)}")
    if found.not_compared:
        echo(printable(f"not compared: {found.not_compared}"))
    echo(f"head {found.head}")
