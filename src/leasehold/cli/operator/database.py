"""The database itself: `leasehold migrate` its schema, `doctor` for its health, `prune` what is old."""

import os
import re
from contextlib import closing
from typing import Final

import click
from msgspec import to_builtins

from leasehold import Leasehold
from leasehold.app.facade import DEFAULT_URL
from leasehold.app.journal import BATCH_TASKS, PruneReport
from leasehold.cli.options import ExitCode, command, given_url, json_option, open_app
from leasehold.cli.table import Column, echo, format_table, print_found, terminal_width
from leasehold.cli.text import count, json_document, printable
from leasehold.errors import OptionInvalid
from leasehold.insight.doctor import Finding, Grade, examine
from leasehold.insight.wording import DAY, HOUR, MINUTE
from leasehold.runtime.process_identity import is_gone, this_process
from leasehold.store.retention import Pruned

FINDINGS: Final = (
    Column("CHECK", lambda finding: finding.name),
    Column("GRADE", lambda finding: finding.grade.value),
    Column("FOUND", lambda finding: finding.text, flexible=True),
)
UNITS: Final = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}
AGE: Final = re.compile(r"([0-9]{1,6})([smhd])")


@command("leasehold migrate --url sqlite:///shop.db")
def migrate() -> None:
    """Create or upgrade the database's schema.

    Under a lock, forward only; prints its version before and after. Running it again changes nothing. A schema that is
    newer than this Leasehold is refused.
    """
    with closing(Leasehold(given_url())) as app:
        before, after = app.migrate()
    echo(f"schema version {after}: nothing to do" if before == after else f"schema version {before} -> {after}")


@command("leasehold doctor", "leasehold doctor --url postgresql://db/shop --json")
@json_option
def doctor(*, as_json: bool) -> None:
    """Check this installation and its database.

    Versions, whether the database answers, its schema, its clock against this host's, how many tasks wait or run, live
    workers, expired leases, who keeps the database from cleaning up. Changes nothing. 'warn' needs attention; 'wrong'
    comes with advice, and the exit code is 1. Passwords are not shown.
    """
    findings = examine(given_url() or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL, this_process(), is_gone)
    print_found(findings, _print_findings, as_json=as_json)
    if any(finding.grade is Grade.WRONG for finding in findings):
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def _print_findings(findings: list[Finding]) -> None:
    head, *lines = format_table(FINDINGS, findings, terminal_width())
    echo(head)
    for line, finding in zip(lines, findings, strict=True):
        echo(line)
        if finding.advice:
            echo(f"  -> {printable(finding.advice)}")


@command("leasehold prune --older-than 30d --dry-run", "leasehold prune --older-than 90d --kind welcome")
@click.option("--older-than", "age", required=True, metavar="TIME", help="Time since they ended: 90s, 15m, 12h or 30d.")
@click.option("--kind", help="Only jobs of this kind.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option(
    "--batch",
    type=click.IntRange(1, 100_000),
    default=BATCH_TASKS,
    show_default=True,
    help="Tasks removed in one transaction; a job is never split.",
)
@json_option
def prune(age: str, *, kind: str | None, dry_run: bool, batch: int, as_json: bool) -> None:
    """Remove jobs that ended long ago, oldest first.

    Each with all that is on record of it, in small transactions that Ctrl-C does not harm. A job stays while anything
    of it is live, an effect is in doubt, a dead letter is not resolved, or a message is not delivered. A key that was
    removed can be submitted again: keep jobs longer than senders may submit them again. A version that was removed does
    not run again; a higher one does.
    """
    seconds = parse_age(age)
    with open_app() as app:
        swept = app.journal.prune(older_than=seconds, kind=kind, dry_run=dry_run, batch=batch, notice=_print_removed)
    if as_json:
        echo(json_document({**to_builtins(swept), "dry_run": dry_run}))
    else:
        echo(_sentence(swept, dry_run=dry_run))


def parse_age(text: str) -> float:
    """Parse a time such as 30d into seconds."""
    if (found := AGE.fullmatch(text.strip().lower())) is None:
        raise OptionInvalid(f"A time is a number and s, m, h or d, such as 30d; got '{text[:40]}'.")
    return float(int(found[1]) * UNITS[found[2]])


def _print_removed(total: Pruned) -> None:
    echo(f"{count(total.jobs, 'job')} removed so far", error=True)


def _sentence(swept: PruneReport, *, dry_run: bool) -> str:
    pruned = swept.pruned
    kept = f"{count(swept.kept, 'job')} as old would stay" if dry_run else f"{count(swept.kept, 'job')} as old stayed"
    if dry_run:
        return f"would remove {count(pruned.jobs, 'job')} with {count(pruned.tasks, 'task')}; {kept}"
    parts = (count(pruned.tasks, "task"), count(pruned.events, "event"), count(pruned.effects, "effect"))
    return f"removed {count(pruned.jobs, 'job')} with {', '.join(parts)}, and {count(swept.workers, 'worker')}; {kept}"
