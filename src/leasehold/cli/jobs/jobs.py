"""`leasehold jobs`: what is there; `show`: one job with its journal; `effects`: what it did to the outside world."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click
from msgspec import to_builtins

from leasehold import Status
from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_lines, print_table
from leasehold.cli.text import ago, count, failure_text, json_document, json_line, printable, read_json, stage_text, utc
from leasehold.errors import OptionInvalid
from leasehold.insight.explain.explanation import CauseCode, Explanation
from leasehold.insight.explain.read import explain
from leasehold.insight.read import effects as ledger
from leasehold.insight.read import jobs as insight
from leasehold.insight.read import timeline
from leasehold.insight.read import tree as trees
from leasehold.insight.read.effects import EffectView
from leasehold.insight.read.jobs import JobFilter, JobSnapshot
from leasehold.insight.read.timeline import JobPart, Timeline
from leasehold.insight.read.tree import JobTree
from leasehold.insight.wording import attempts, duration
from leasehold.model.limits import PAGE_MAX
from leasehold.runtime.process_identity import is_gone, this_process

SEGMENTS_SHOWN: Final = 40
LETTERS_SHOWN: Final = 5
TREE_SHOWN: Final = 100
URGENCY: Final = ("ERROR", "RUNNING", "READY", "NEW", "CANCELLED", "DONE")


def took(job: JobSnapshot) -> str:
    return duration((job.finished_at - job.created_at).total_seconds()) if job.finished_at else ""


def _lease(part: JobPart) -> str:
    if part.holder is not None:
        left = part.holder.expires_in
        expiry = f"expires in {duration(left)}" if left >= 0 else f"expired {duration(-left)} ago"
        return f"{part.holder.host}:{part.holder.pid}, {expiry}"
    return f"due in {duration(part.due_in)}" if part.due_in is not None and part.due_in > 0 else ""


def _attempt(part: JobPart) -> str:
    if not part.attempt:
        return ""
    if part.status == Status.CANCELLED and part.losses:  # nobody knows whether the last one failed
        return f"{part.attempt} ({part.losses} lost)"
    has_failed = part.status not in (Status.RUNNING, Status.DONE)
    return attempts(part.attempt, part.attempts_max, part.losses, failed=has_failed)


def outcome(one: EffectView) -> str:
    if one.state == "done":
        return json_line(one.result)
    message = (one.failure or {}).get("message")
    return "" if message is None else json_line(message)


JOBS: Final = (
    Column("ID", lambda job: job.id, right=True),
    Column("STATUS", lambda job: job.status.value),
    Column("KIND", lambda job: job.kind, rank=1, flexible=True),
    Column("KEY", lambda job: job.key, rank=2, flexible=True),
    Column("SUBMITTED", lambda job: ago(job.created_at), rank=4),
    Column("TOOK", took, rank=5, right=True),
    Column("FAILURE", lambda job: failure_text(job.failure), rank=3, flexible=True),
)
PARTS: Final = (
    Column("TASK", lambda part: part.id, right=True),
    Column(
        "STAGE",
        lambda part: ("" if part.segment is None else "  ") + stage_text(part.stage, part.segment),
        rank=1,
        flexible=True,
    ),
    Column("STATUS", lambda part: part.status),
    Column("ATTEMPT", _attempt, rank=3),
    Column("LEASE", _lease, rank=4, flexible=True),
    Column("PROGRESS", lambda part: _progress(part.progress), rank=5, flexible=True),
    Column("FAILURE", lambda part: failure_text(part.failure), rank=2, flexible=True),
)
TREE: Final = (
    Column("JOB", lambda job: job.id, right=True),
    Column("STATUS", lambda job: job.status),
    Column("KIND", lambda job: f"{'  ' * job.depth}{job.kind}", rank=1, flexible=True),
    Column("KEY", lambda job: job.key, rank=2, flexible=True),
    Column("SPENT", lambda job: ", ".join(f"{amount:,} {name}" for name, amount in job.spent.items()), rank=3),
)
MOMENTS: Final = (
    Column("SINCE", lambda moment: f"+{moment.since:.3f} s", right=True),
    Column("TASK", lambda moment: moment.task_id, rank=1, right=True),
    Column("EVENT", lambda moment: moment.name),
    Column("ATTEMPT", lambda moment: moment.attempt or "", rank=3, right=True),
    Column("WORKER", lambda moment: moment.worker or "", rank=4, right=True),
    Column("DETAIL", lambda moment: "" if moment.detail is None else _detail(moment.detail), rank=2, flexible=True),
)
EFFECTS: Final = (
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
    "leasehold jobs --status ERROR --kind welcome",
    "leasehold jobs --kind welcome --key-prefix customer-7/",
    "leasehold jobs --limit 100 --before 4711 --json",
)
@click.option("--status", type=click.Choice([status.value for status in Status], case_sensitive=False))
@click.option("--kind", help="Only jobs of this kind.")
@click.option("--queue", help="Only jobs of this queue.")
@click.option("--key-prefix", metavar="TEXT", help="Only jobs whose key starts so; with --kind.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True)
@click.option("--before", type=JOB_ID, metavar="ID", help="Only jobs older than this one.")
@json_option
def jobs(*, limit: int, as_json: bool, **filters: Any) -> None:
    """List jobs, newest first. A page ends after --limit jobs; --before ID continues where the last one ended."""
    wanted = JobFilter(limit=limit, **filters)
    wanted.check()
    with open_app() as app:
        found = insight.listing(app.store, wanted)
    print_found(found, lambda found: print_table(JOBS, found), as_json=as_json)
    if not as_json and len(found) == limit and sys.stdout.isatty():
        echo(f"older ones: --before {found[-1].id}")


@command("leasehold show 4711", "leasehold show 4711 --events 1000 --json")
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option(
    "--events", type=click.IntRange(0, 50_000), default=200, show_default=True, help="Number of latest journal lines."
)
@json_option
def show(job_id: int, *, events: int, as_json: bool) -> None:
    """Show a job in full.

    Its payload and result; its budgets, and the jobs that it has submitted, as a tree; why it does not run and what to
    do; its stages and segments with attempts, leases, progress and failures; and its journal as a time line that starts
    with the submit.
    """
    with open_app() as app:
        found = timeline.read(app.store, job_id, lines=events)
        tree = trees.read(app.store, job_id)
        explanation = explain(app.store, job_id, this_process(), is_gone)
    if as_json:
        echo(json_document({**found.plain(), **tree.plain(), "explanation": explanation.plain()}))
    else:
        heading = (*_heading(found.job), *_budgets(tree), *_counts(found), *_letters(found))
        print_lines((*heading, *_explanation(explanation), ""))
        _print_tree(tree)
        _print_job(found)


def _budgets(tree: JobTree) -> Iterable[str]:
    whose = "" if tree.parent_id is None else f", of job {tree.root_id}"
    for name, budget in tree.budget.items():
        yield f"  budget     {printable(name)}: {budget.spent:,} of {budget.limit:,} spent{whose}"
    if tree.parent_id is not None:
        yield f"  parent     job {tree.parent_id}"


def _print_tree(tree: JobTree) -> None:
    if len(tree.jobs) > 1:
        print_table(TREE, tree.jobs[:TREE_SHOWN])
        if len(tree.jobs) > TREE_SHOWN:
            echo(f"{TREE_SHOWN} of {len(tree.jobs):,} jobs are shown, --json prints more")
        echo()


def _explanation(found: Explanation) -> Iterable[str]:
    """Show what the table of tasks does not."""
    if found.code not in (CauseCode.DONE, CauseCode.RUNNING):
        yield f"  why        {printable(found.why)}"
        yield f"  to do      {printable(found.advice)}"


def _print_job(found: Timeline) -> None:
    _print_parts(found)
    echo()
    if found.earlier:
        echo(f"{count(found.earlier, 'earlier line')} left out; --events shows more")
    print_table(MOMENTS, found.moments)


def _heading(job: JobSnapshot) -> Iterable[str]:
    yield f"job {job.id}  {printable(job.kind)}  {job.status.value}"
    yield f"  key        {printable(job.key)}"
    yield f"  submitted  {utc(job.created_at)}, {ago(job.created_at)}"
    if job.finished_at is not None:
        yield f"  took       {took(job)}"
    yield f"  payload    {json_line(job.payload)}"
    if job.output is not None:
        yield f"  output     {json_line(job.output)}"
    if job.failure is not None:
        yield f"  failure    {failure_text(job.failure)}"
        yield from (f"             {printable(line)}" for line in str(job.failure.get("stack", "")).splitlines())


def _counts(found: Timeline) -> Iterable[str]:
    """Count the tasks of a pipeline; a plain job is one task."""
    if found.job.has_parts:
        counts = to_builtins(found.counts)
        others = [f"{counts[status.lower()]:,} {status}" for status in URGENCY[:-1] if counts[status.lower()]]
        yield f"  tasks      {found.counts} done" + (f": {', '.join(others)}" if others else "")


def _letters(found: Timeline) -> Iterable[str]:
    if shown := [f"{letter.id} {letter.state.value}" for letter in found.letters[:LETTERS_SHOWN]]:
        more = f" and {len(found.letters) - LETTERS_SHOWN} more" if len(found.letters) > LETTERS_SHOWN else ""
        yield f"  letters    {', '.join(shown)}{more}; see `leasehold dead show`"


def _print_parts(found: Timeline) -> None:
    """Print each stage with its most urgent segments: failed, then running, then done."""
    shown: list[JobPart] = []
    for stage in (part for part in found.parts if part.segment is None):
        segments = [part for part in found.parts if part.segment is not None and part.parent_id == stage.id]
        urgent = sorted(segments, key=lambda part: (URGENCY.index(part.status), part.segment))[:SEGMENTS_SHOWN]
        shown += [stage, *sorted(urgent, key=lambda part: part.segment or 0)]
        if len(segments) > SEGMENTS_SHOWN:
            counts = Counter(part.status for part in segments)
            tally = ", ".join(f"{counts[status]} {status}" for status in URGENCY if counts[status])
            total = f"{printable(stage.stage)}: {count(len(segments), 'segment')}"
            echo(f"{total}: {tally}; {SEGMENTS_SHOWN} are shown, --json prints all")
    print_table(PARTS, shown)


def _progress(progress: Any) -> str:
    if not isinstance(progress, dict):
        return ""
    done = f"{progress.get('done')}/{progress['total']}" if "total" in progress else str(progress.get("done"))
    return f"{done} {progress.get('message', '')}".strip()


def _detail(detail: Any) -> str:
    if not isinstance(detail, dict):
        return json_line(detail)
    shown = ((name, len(value) if name == "effects" else value) for name, value in detail.items())
    return ", ".join(f"{name} {value}" for name, value in shown if name not in ("stack", "retryable"))


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
    print_found(found, _print_effects, as_json=as_json)


def _print_effects(found: Sequence[EffectView]) -> None:
    print_table(EFFECTS, found)
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
