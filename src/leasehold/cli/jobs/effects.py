"""`leasehold effects`: what a job has done to the outside world."""

from typing import Final

import click

from leasehold.cli.options import JOB_ID, help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import count, json_document, json_line, printable, read_json
from leasehold.errors import OptionInvalid
from leasehold.insight.read import effects as ledger
from leasehold.insight.read.effects import EffectView

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
    help=help_with_examples(
        "List what a job has done to the outside world.\n\nIn the order it was intended. STATE is `done` (its result is"
        " returned to every later attempt), `failed` (it is done again), `intended` (under way), or `in_doubt`: an"
        " attempt intended it, and its result is unknown. Record what happened with `leasehold dead answer`; for a"
        " cancelled job, which has no dead letter, use --answer here.",
        [
            "leasehold effects 4711",
            "leasehold effects 4711 --json",
            "leasehold effects 4711 --answer 3f9ac01b --did-not-happen",
        ],
    )
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option("--answer", "key", metavar="KEY", help="Record what happened to this effect of a cancelled job.")
@click.option("--happened", metavar="RESULT", help="With --answer: it happened, with this result (JSON).")
@click.option("--did-not-happen", is_flag=True, help="With --answer: it did not happen.")
@json_option
@url_option
def effects(job_id: int, *, key: str | None, happened: str | None, did_not_happen: bool, as_json: bool) -> None:
    if key is not None or happened is not None or did_not_happen:
        _answer(job_id, key, happened, did_not_happen=did_not_happen)
        return
    with open_app() as app:
        found = ledger.of(app.store, job_id)
    if as_json:
        echo(json_document([one.plain() for one in found]))
        return
    print_table(COLUMNS, [_row(one) for one in found])
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


def _row(one: EffectView) -> list[object]:
    stage = one.stage or ""
    stage = stage if one.segment is None else f"{stage} [{one.segment}]"
    outcome = one.result if one.state == "done" else (one.failure or {}).get("message")
    result = "" if outcome is None and one.state != "done" else json_line(outcome)
    return [
        one.task_id,
        stage,
        one.number,
        one.kind,
        one.state,
        one.attempt,
        one.key[:16],
        json_line(one.fields),
        result,
    ]
