"""`leasehold effects`: what a job has done to the outside world."""

from collections.abc import Sequence
from typing import Final

import click

from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_table
from leasehold.cli.text import count, json_line, printable, read_json, stage_text
from leasehold.errors import OptionInvalid
from leasehold.insight.read import effects as ledger
from leasehold.insight.read.effects import EffectView


def outcome(one: EffectView) -> str:
    if one.state == "done":
        return json_line(one.result)
    message = (one.failure or {}).get("message")
    return "" if message is None else json_line(message)


COLUMNS: Final = (
    Column("TASK", lambda one: one.task_id, right=True),
    Column("STAGE", lambda one: stage_text(one.stage, one.segment), rank=2, flexible=True),
    Column("N", lambda one: one.number, rank=4, right=True),
    Column("KIND", lambda one: one.kind),
    Column("STATE", lambda one: one.state),
    Column("ATTEMPT", lambda one: one.attempt, rank=5, right=True),
    Column("KEY", lambda one: one.key[:16], rank=3, flexible=True),
    Column("FIELDS", lambda one: json_line(one.fields), rank=1, flexible=True),
    Column("RESULT", outcome, flexible=True),
)


@command(
    "leasehold effects 4711",
    "leasehold effects 4711 --json",
    "leasehold effects 4711 --answer 3f9ac01b --did-not-happen",
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option("--answer", "key", metavar="KEY", help="Record what happened to this effect of a cancelled job.")
@click.option("--happened", metavar="RESULT", help="With --answer: it happened, with this result (JSON).")
@click.option("--did-not-happen", is_flag=True, help="With --answer: it did not happen.")
@json_option
def effects(job_id: int, *, key: str | None, happened: str | None, did_not_happen: bool, as_json: bool) -> None:
    """List what a job has done to the outside world.

    In the order it was intended. STATE is `done` (its result is returned to every later attempt), `failed` (it is done
    again), `intended` (under way), or `in_doubt`: an attempt intended it, and its result is unknown. Record what
    happened with `leasehold dead answer`; for a cancelled job, which has no dead letter, use --answer here.
    """
    if key is not None or happened is not None or did_not_happen:
        _answer(job_id, key, happened, did_not_happen=did_not_happen)
        return
    with open_app() as app:
        found = ledger.of(app.store, job_id)
    print_found(found, _print, as_json=as_json)


def _print(found: Sequence[EffectView]) -> None:
    print_table(COLUMNS, found)
    if doubtful := sum(one.state == "in_doubt" for one in found):
        echo()
        echo(f"{count(doubtful, 'effect')} in doubt: see `leasehold dead list`, or --answer if the job was cancelled")


def _answer(job_id: int, key: str | None, happened: str | None, *, did_not_happen: bool) -> None:
    if key is None or (happened is None) != did_not_happen:
        raise OptionInvalid("Pass --answer KEY with either --happened RESULT or --did-not-happen.")
    result = None if happened is None else read_json(happened)
    with open_app() as app:
        app.deadletters.answer_cancelled(job_id, key, happened=not did_not_happen, result=result)
    echo(f"effect {printable(key)} {'did not happen' if did_not_happen else 'happened'}: this is on record")
