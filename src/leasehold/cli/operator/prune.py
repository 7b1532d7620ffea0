"""`leasehold prune`: retention."""

import re
from typing import Final

import click
from msgspec import to_builtins

from leasehold.app.retention import BATCH_TASKS, Swept
from leasehold.cli.options import help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import echo
from leasehold.cli.text import DAY, HOUR, MINUTE, count, json_document
from leasehold.errors import OptionInvalid
from leasehold.store.retention import Pruned

UNITS: Final = {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY}
AGE: Final = re.compile(r"([0-9]{1,6})([smhd])")


@click.command(
    help=help_with_examples(
        "Remove jobs that ended long ago, oldest first.\n\nEach with all that is on record of it, in small transactions"
        " that Ctrl-C does not harm. A job stays while anything of it is live, an effect is in doubt, a dead letter is"
        " not resolved, or a message is not delivered. A key that was removed can be submitted again: keep jobs"
        " longer than senders may submit them again. A version that was removed does not run again; a higher"
        " one does.",
        ["leasehold prune --older-than 30d --dry-run", "leasehold prune --older-than 90d --kind welcome"],
    )
)
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
@url_option
def prune(age: str, *, kind: str | None, dry_run: bool, batch: int, as_json: bool) -> None:
    """Remove old jobs."""
    seconds = parse_age(age)
    with open_app() as app:
        swept = app.journal.prune(older_than=seconds, kind=kind, dry_run=dry_run, batch=batch, notice=_progress)
    if as_json:
        echo(json_document({**to_builtins(swept), "dry_run": dry_run}))
    else:
        echo(_sentence(swept, dry_run=dry_run))


def parse_age(text: str) -> float:
    """Parse a time such as 30d into seconds."""
    found = AGE.fullmatch(text.strip().lower())
    if found is None:
        raise OptionInvalid(f"A time is a number and s, m, h or d, such as 30d; got '{text[:40]}'.")
    return float(int(found[1]) * UNITS[found[2]])


def _progress(total: Pruned) -> None:
    echo(f"{count(total.jobs, 'job')} removed so far", error=True)


def _sentence(swept: Swept, *, dry_run: bool) -> str:
    pruned = swept.pruned
    kept = f"{count(swept.kept, 'job')} as old would stay" if dry_run else f"{count(swept.kept, 'job')} as old stayed"
    if dry_run:
        return f"would remove {count(pruned.jobs, 'job')} with {count(pruned.tasks, 'task')}; {kept}"
    parts = (count(pruned.tasks, "task"), count(pruned.events, "event"), count(pruned.effects, "effect"))
    return f"removed {count(pruned.jobs, 'job')} with {', '.join(parts)}, and {count(swept.workers, 'worker')}; {kept}"
