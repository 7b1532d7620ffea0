"""`leasehold dead`: the operator's workflow on tasks that failed for good, in its order."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import click

from leasehold.app.deadletters import Filters, RevivalReport
from leasehold.cli.options import JOB_ID, ExitCode, group, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_lines, print_table
from leasehold.cli.text import ago, count, json_line, printable, read_json, stage_text, utc
from leasehold.errors import OptionInvalid
from leasehold.insight.read.deadletters import AuditEntry, Burial, DeadLetter, DeadLetterDetail
from leasehold.insight.read.revival_plan import RevivalPlan
from leasehold.model.limits import PAGE_MAX
from leasehold.model.revival import LetterState

F = TypeVar("F", bound=Callable[..., Any])
REFUSALS_SHOWN: Final = 20


def _note(letter: DeadLetter) -> str:
    notes = ("escalated" if letter.escalated else "", "has evidence" if letter.evidenced else "")
    return ", ".join(filter(None, notes))


def _attempts(letter: DeadLetter) -> str:
    return f"{letter.attempts} ({letter.losses} lost)" if letter.losses else str(letter.attempts)


LETTERS: Final = (
    Column("LETTER", lambda letter: letter.id, right=True),
    Column("STATE", lambda letter: letter.state.value),
    Column("JOB", lambda letter: letter.job_id, rank=1, right=True),
    Column("KIND", lambda letter: letter.kind, rank=2, flexible=True),
    Column("STAGE", lambda letter: stage_text(letter.stage, letter.segment), rank=3, flexible=True),
    Column("CLASS", lambda letter: letter.error_class, flexible=True),
    Column("ATTEMPTS", _attempts, rank=6),
    Column("EPOCH", lambda letter: letter.epoch, rank=7, right=True),
    Column("FAILED", lambda letter: ago(letter.last_failure_at), rank=4),
    Column("NOTE", _note, rank=5),
    Column("MESSAGE", lambda letter: letter.message.partition("\n")[0], rank=8, flexible=True),
)
STAGES: Final = (
    Column("STAGE", lambda stage: stage.stage or "(the job)", flexible=True),
    Column("FATE", lambda stage: stage.fate.value),
    Column("NOTE", lambda stage: stage.note, rank=1, flexible=True),
)
EFFECTS: Final = (
    Column("EFFECT", lambda effect: effect.key[:16], flexible=True),
    Column("KIND", lambda effect: effect.kind),
    Column("STAGE", lambda effect: stage_text(effect.stage, effect.segment), rank=1, flexible=True),
    Column("FATE", lambda effect: effect.fate.value),
    Column("NOTE", lambda effect: effect.note, rank=2, flexible=True),
)

letter_argument = click.argument("letter_id", metavar="LETTER", type=JOB_ID)
letter_or_filters = click.argument("letter_id", metavar="[LETTER]", type=JOB_ID, required=False)
many_limit = click.option("--limit", type=click.IntRange(1), help="At most so many of those that match, newest first.")


def filter_options(function: F) -> F:
    for option in (
        click.option(
            "--escalated/--not-escalated", default=None, help="Only letters that failed again, or only others."
        ),
        click.option("--error-class", metavar="CLASS", help="Only of this class, such as NETWORK_TIMEOUT."),
        click.option("--stage", help="Only of this stage."),
        click.option("--kind", help="Only of this kind."),
    ):
        function = option(function)
    return function


@group("leasehold dead list", "leasehold dead show 12", "leasehold dead evidence 12 --text 'key rotated'")
def dead() -> None:
    """Handle dead letters: tasks that failed permanently.

    The order of work: `list` and `show` what failed; fix the cause and record that with `evidence`; `answer` for
    effects in doubt; check with `plan` what would run; `revive`; and `resolve` once the job is DONE. Every action is
    recorded with the user who took it.
    """


@dead.subcommand(
    "leasehold dead list --state open", "leasehold dead list --error-class AUTH_DENIED --escalated --json", name="list"
)
@filter_options
@click.option("--state", type=click.Choice([state.value for state in LetterState]))
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True)
@click.option("--before", type=JOB_ID, metavar="ID", help="Only letters older than this one.")
@json_option
def list_letters(*, limit: int, before: int | None, as_json: bool, **filters: Any) -> None:
    """List dead letters, newest first.

    A page ends after --limit letters; --before ID continues there.
    """
    with open_app() as app:
        found = app.deadletters.list(before=before, limit=limit, **filters)
    print_found(found, lambda found: print_table(LETTERS, found), as_json=as_json)


@dead.subcommand("leasehold dead show 12", "leasehold dead show 12 --json")
@letter_argument
@json_option
def show(letter_id: int, *, as_json: bool) -> None:
    """Show a letter in full.

    Its last stack, its sanitized context, and every burial of the same task with what was done about it and by whom.
    """
    with open_app() as app:
        found = app.deadletters.get(letter_id)
    print_found(found, lambda found: print_lines(_letter(found)), as_json=as_json)


@dead.subcommand(
    "leasehold dead evidence 12 --text 'rotated the key, tried one review' --ticket OPS-77",
    "leasehold dead evidence --kind review --error-class AUTH_DENIED --text 'rotated the key'",
)
@letter_or_filters
@click.option("--text", required=True, help="What was done, in at most 2,000 characters.")
@click.option("--ticket", help="A ticket with more details.")
@filter_options
@many_limit
def evidence(letter_id: int | None, *, text: str, ticket: str | None, limit: int | None, **filters: Any) -> None:
    """Record how the cause of a letter, or of every open one that matches, was fixed.

    A letter without evidence is not revived. The text is kept permanently: do not include secrets.
    """
    chosen = one_or_many(letter_id, filters)
    with open_app() as app:
        if letter_id is not None:
            app.deadletters.evidence(letter_id, text, ticket=ticket)
            echo(f"letter {letter_id} has evidence")
            return
        report = app.deadletters.evidence_many(text, ticket=ticket, limit=limit, **chosen)
    _print_report(report, "has evidence", "have evidence")


@dead.subcommand("leasehold dead plan 12", "leasehold dead plan 12 --from-start --json")
@letter_argument
@click.option("--from-start", is_flag=True, help="Plan for all stages, not from the one that failed.")
@json_option
def plan(letter_id: int, *, from_start: bool, as_json: bool) -> None:
    """Show what a revival would do; nothing is changed.

    Which stages would run and which are kept; which effects would be reused, looked up or repeated; and why it would be
    refused, if it would.
    """
    with open_app() as app:
        found = app.deadletters.plan(letter_id, from_start=from_start)
    print_found(found, _print_plan, as_json=as_json)


@dead.subcommand(
    "leasehold dead revive 12",
    "leasehold dead revive 12 --from-start",
    "leasehold dead revive --kind review --error-class AUTH_DENIED --dry-run",
)
@letter_or_filters
@click.option("--from-start", is_flag=True, help="Run all stages of the job again; recorded effects are still reused.")
@click.option("--dry-run", is_flag=True, help="Only list what would be revived.")
@filter_options
@many_limit
def revive(letter_id: int | None, *, from_start: bool, dry_run: bool, limit: int | None, **filters: Any) -> None:
    """Run a failed task again, from the stage that failed.

    One letter, or every open one that matches. If several users revive a letter at once, one succeeds and the others
    exit with 4. Matching letters that may not be revived are listed and left unchanged, and the exit code is 1;
    likewise for a refused dry run.
    """
    chosen = one_or_many(letter_id, filters)
    with open_app() as app:
        if letter_id is None:
            report = app.deadletters.revive_many(from_start=from_start, dry_run=dry_run, limit=limit, **chosen)
        elif dry_run:
            plan = app.deadletters.plan(letter_id, from_start=from_start)
            _print_plan(plan)
            click.get_current_context().exit(ExitCode.OK if plan.refusal is None else ExitCode.CHECK_FAILED)
        else:
            done = app.deadletters.revive(letter_id, from_start=from_start)
            echo(f"letter {letter_id} is revived: task {done.task_id} of job {done.job_id} is in epoch {done.epoch}")
            return
    would = "would be" if dry_run else None
    _print_report(report, f"{would or 'is'} revived", f"{would or 'are'} revived")


@dead.subcommand("leasehold dead resolve 12 --notes 'key rotated, review was mailed'")
@letter_argument
@click.option("--notes", required=True, help="At most 2,000 characters.")
def resolve(letter_id: int, *, notes: str) -> None:
    """Close a letter.

    It was revived and its job is DONE, or its job was cancelled. The notes are kept for later readers.
    """
    with open_app() as app:
        app.deadletters.resolve(letter_id, notes)
    echo(f"letter {letter_id} is resolved")


@dead.subcommand(
    'leasehold dead answer 12 3f9ac01b --happened \'{"id": "m-17"}\'',
    "leasehold dead answer 12 3f9ac01b --did-not-happen",
)
@letter_argument
@click.argument("effect_key")
@click.option("--happened", metavar="RESULT", help="It happened; its result for the handler, as JSON.")
@click.option("--did-not-happen", is_flag=True, help="It did not happen.")
def answer(letter_id: int, effect_key: str, *, happened: str | None, did_not_happen: bool) -> None:
    """Record what happened to an effect in doubt.

    It was intended, and its result is unknown. Either it happened, with this result (JSON), or it did not, and is done
    again after the revival. `dead plan` lists the keys; the first 8 characters are enough.
    """
    if (happened is None) != did_not_happen:
        raise OptionInvalid("Pass either --happened RESULT or --did-not-happen.")
    result = None if happened is None else read_json(happened)
    with open_app() as app:
        app.deadletters.answer(letter_id, effect_key, happened=not did_not_happen, result=result)
    echo(f"effect {printable(effect_key)} {'did not happen' if did_not_happen else 'happened'}: this is on record")


def one_or_many(letter_id: int | None, filters: dict[str, Any]) -> Filters:
    """Return the filters; raise unless there is either a letter or a filter: all are never the default."""
    given: Filters = {name: value for name, value in filters.items() if value is not None}  # type: ignore[assignment]
    if (letter_id is None) != bool(given):
        raise OptionInvalid("Name one LETTER, or choose many with --kind, --stage, --error-class or --escalated.")
    return given


def _print_report(report: RevivalReport, one: str, many: str) -> None:
    ids = f": {', '.join(map(str, report.done))}" if report.done else ""
    echo(f"{count(len(report.done), 'letter')} {one if len(report.done) == 1 else many}{ids}")
    for refused in report.refused[:REFUSALS_SHOWN]:
        echo(printable(f"letter {refused.letter_id} is unchanged: {refused.code}: {refused.reason}"), error=True)
    if len(report.refused) > REFUSALS_SHOWN:
        echo(f"and {count(len(report.refused) - REFUSALS_SHOWN, 'more letter')}", error=True)
    if report.left:
        echo(f"{count(report.left, 'more letter')} left out because of --limit", error=True)
    if report.refused:
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def _print_plan(plan: RevivalPlan) -> None:
    how = "from the start" if plan.from_start else "at the stage that failed"
    echo(f"reviving letter {plan.letter_id} would run job {plan.job_id} {how}")
    echo()
    print_table(STAGES, plan.stages)
    if plan.effects:
        echo()
        print_table(EFFECTS, plan.effects)
    if plan.refusal is not None:
        echo()
        echo(printable(f"it would be refused: {plan.refusal_code}: {plan.refusal}"))


def _letter(found: DeadLetterDetail) -> Iterable[str]:
    letter = found.letter
    where = stage_text(letter.stage, letter.segment)
    yield f"letter {letter.id}  {letter.error_class}  {letter.state.value}{'  escalated' if letter.escalated else ''}"
    yield f"  job            {letter.job_id}  {printable(letter.kind)}{f'  stage {printable(where)}' if where else ''}"
    yield f"  message        {printable(letter.message)}"
    yield f"  attempts       {letter.attempts} in epoch {letter.epoch}{_losses(letter)}"
    yield f"  first failure  {utc(letter.first_failure_at)}"
    yield f"  last failure   {utc(letter.last_failure_at)}, {ago(letter.last_failure_at)}"
    yield f"  context        {json_line(found.sanitized_context)}"
    if found.last_stack:
        yield "  last stack"
        yield from (f"    {printable(line)}" for line in found.last_stack.splitlines())
    for burial in found.history:
        yield from _burial(burial)


def _losses(letter: DeadLetter) -> str:
    return f"; {letter.losses} of them lost their worker, which Retry.attempts does not count" if letter.losses else ""


def _burial(burial: Burial) -> Iterable[str]:
    letter = burial.letter
    note = ", escalated" if letter.escalated else ""
    state = f"{letter.error_class}, {letter.state.value}{note}, {utc(letter.last_failure_at)}"
    yield from ("", f"epoch {letter.epoch}: letter {letter.id}, {state}")
    for action in burial.actions:
        yield f"  {utc(action.at)}  {printable(action.principal)}  {action.action}  {_detail(action)}".rstrip()


def _detail(action: AuditEntry) -> str:
    if action.action == "revive":
        epoch = action.detail.get("did", {}).get("epoch")
        return f"epoch {epoch}{', from start' if action.detail.get('from_start') else ''}"
    return ", ".join(f"{printable(name)} {json_line(value)}" for name, value in action.detail.items())
