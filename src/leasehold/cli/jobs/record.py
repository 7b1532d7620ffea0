"""The record of a job: `leasehold export` writes it, `verify` checks it, `replay` runs it again without any effect."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import click
from msgspec import structs, to_builtins

from leasehold import canonical
from leasehold.canonical import INTEGER_MAX
from leasehold.cli.options import JOB_ID, ExitCode, command, find_app, json_option, open_app
from leasehold.cli.table import echo
from leasehold.cli.text import count, printable, stage_text
from leasehold.errors import RecordDamaged
from leasehold.insight.record import export as write_record
from leasehold.insight.verify.verify import Verification, verify_file, verify_job
from leasehold.redact import scrub
from leasehold.runtime.replay.replayer import Replay

SPOOL_BYTES: Final = 16 * 1024 * 1024
DIGITS_MAX: Final = 19


@command("leasehold export 4711 > job.ndjson")
@click.argument("job_id", metavar="JOB", type=JOB_ID)
def export(job_id: int) -> None:
    """Export the complete record of a job.

    Lines of canonical JSON: its tasks, events, effects, outcomes, letters and deliveries, as they are at one moment. No
    byte depends on the machine or the database, and each line's hash covers all before it. The record holds payloads,
    results and messages as they are: protect it as you protect them.
    """
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        with open_app() as app:
            write_record(app.store, job_id, spool)
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@command(
    "leasehold verify 4711",
    "leasehold verify job.ndjson",
    "leasehold verify 4711 --head 5d41402abc4b2a76b9719d911017c592…",
)
@click.argument("target", metavar="JOB|FILE")
@click.option("--head", metavar="HASH", help="The head as printed earlier.")
@json_option
def verify(target: str, *, head: str | None, as_json: bool) -> None:
    """Check a job, or an exported record.

    JOB: compute the job from its events, compare it with every table, and check the hash chain. FILE: check the hash of
    every line, and that outcomes follow from events. Prints the first difference and the head of the hash chain. Keep
    the head: --head checks later that the events are still the same.
    """
    found = _verify(target)
    if found.equal and head is not None and head.lower() != found.head:
        difference = f"the head of the events should be {head} and is {found.head}"
        found = structs.replace(found, equal=False, difference=difference)
    if as_json:
        echo(canonical.encode(structs.asdict(found)))
    else:
        _print_verification(found)
    click.get_current_context().exit(ExitCode.OK if found.equal else ExitCode.CHECK_FAILED)


def _verify(target: str) -> Verification:
    if not (target.isascii() and target.isdigit() and len(target) <= DIGITS_MAX):
        if not Path(target).exists():
            raise RecordDamaged(f"{target} cannot be read: No such file or directory.")
        return verify_file(Path(target))
    with open_app() as app:
        return verify_job(app.store, min(int(target), INTEGER_MAX))


def _print_verification(found: Verification) -> None:
    if found.difference:
        echo(printable(scrub(f"different: {found.difference}", entropy=False)))
        return
    parts = (count(found.tasks, "task"), count(found.events, "event"), count(found.effects, "effect"))
    echo(f"equal: {', '.join(parts)}")
    if found.not_compared:
        echo(printable(f"not compared: {found.not_compared}"))
    echo(f"head {found.head}")


@command("leasehold replay job.ndjson shop.jobs:app", "leasehold replay job.ndjson shop.jobs:app --json")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name", metavar="MODULE:APP")
@json_option
def replay(file: Path, name: str, *, as_json: bool) -> None:
    """Replay a record.

    Every task that a handler ended runs again with its recorded payload, inputs and effects. The outcome is compared
    with the record, as are retries, with the recorded clock and jitter. No effect is done, no database is opened. The
    answer is `equal`, or the first divergence; its bytes are the same on every machine. MODULE:APP is imported with
    this folder on the path.
    """
    app = find_app(name)
    app.close()  # a handler that writes outside its effects finds no database
    found = app.journal.replay(file)
    if as_json:
        echo(canonical.encode(to_builtins(found)))
    else:
        _print_replay(found)
    click.get_current_context().exit(ExitCode.OK if found.equal else ExitCode.CHECK_FAILED)


def _print_replay(found: Replay) -> None:
    if (first := found.divergence) is not None:
        stage = "" if first.stage is None else f" ({stage_text(first.stage, first.segment)})"
        expected, seen = (value if value is not None else "absent" for value in (first.expected, first.found))
        difference = f"task {first.task}{stage}: {first.what} should be {expected} and is {seen}"
        echo(printable(scrub(f"diverged: {difference}")))
        return
    ran = f"{count(found.tasks, 'task')} run again, {found.journal_only} checked by the journal alone"
    echo(f"equal: {ran}, {count(found.effects, 'effect')} answered from the record")
    echo(f"digest {found.digest}")
