"""`leasehold effects`: what a job has done to the outside world."""

from __future__ import annotations

from typing import Final

import click

from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.verbs import JOB_ID, json_option, lesson, opened, url_option
from leasehold.cli.words import compact, count, document
from leasehold.insight import effects as ledger
from leasehold.insight.effects import Seen

COLUMNS: Final = (
    Column("TASK", right=True),
    Column("STAGE", rank=2, flexible=True),
    Column("N", rank=4, right=True),
    Column("KIND"),
    Column("STATE"),
    Column("ATTEMPT", rank=5, right=True),
    Column("KEY", rank=3, flexible=True),
    Column("FIELDS", rank=1, flexible=True),
    Column("RESULT", flexible=True),
)


@click.command(
    help=lesson(
        "List what a job has done to the outside world.\n\nIn the order it was intended. STATE is `done` (its result is"
        " returned to every later attempt), `failed` (it is done again), `intended` (under way), or `in_doubt`: an"
        " attempt intended it and was never heard of again; `leasehold dead answer` tells what came of it.",
        ["leasehold effects 4711", "leasehold effects 4711 --json"],
    )
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@json_option
@url_option
def effects(job_id: int, *, as_json: bool) -> None:
    """List effects."""
    with opened() as app:
        found = ledger.of(app.store, job_id)
    if as_json:
        echo(document([one.plain() for one in found]))
        return
    print_table(COLUMNS, [_row(one) for one in found])
    if doubtful := sum(one.state == "in_doubt" for one in found):
        echo()
        echo(f"{count(doubtful, 'effect')} in doubt: see `leasehold dead list`")


def _row(one: Seen) -> list[object]:
    stage = one.stage or ""
    stage = stage if one.segment is None else f"{stage} [{one.segment}]"
    said = one.result if one.state == "done" else (one.failure or {}).get("message")
    result = "" if said is None and one.state != "done" else compact(said)
    return [one.task_id, stage, one.number, one.kind, one.state, one.attempt, one.key[:16], compact(one.fields), result]
