"""`leasehold show`: one job in full: its tasks, who holds them, and its journal as a time line."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from leasehold.cli.options import JOB_ID, help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import ago, count, duration, json_document, json_line, printable
from leasehold.insight.read import timeline
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.insight.read.timeline import JobPart, Moment, Timeline

SEGMENTS_SHOWN: Final = 40
LETTERS_SHOWN: Final = 5
URGENCY: Final = ("ERROR", "RUNNING", "READY", "NEW", "CANCELLED", "DONE")
PARTS: Final = (
    Column("TASK", right=True),
    Column("STAGE", rank=1, flexible=True),
    Column("STATUS"),
    Column("ATTEMPT", rank=3),
    Column("LEASE", rank=4, flexible=True),
    Column("PROGRESS", rank=5, flexible=True),
    Column("FAILURE", rank=2, flexible=True),
)
MOMENTS: Final = (
    Column("SINCE", right=True),
    Column("TASK", rank=1, right=True),
    Column("EVENT"),
    Column("ATTEMPT", rank=3, right=True),
    Column("WORKER", rank=4, right=True),
    Column("DETAIL", rank=2, flexible=True),
)


@click.command(
    help=help_with_examples(
        "Show a job in full.\n\nIts payload and result; its stages and segments with attempts, leases, progress and"
        " failures; and its journal as a time line that starts with the submit.",
        ["leasehold show 4711", "leasehold show 4711 --events 1000 --json"],
    )
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option(
    "--events", type=click.IntRange(0, 50_000), default=200, show_default=True, help="Number of latest journal lines."
)
@json_option
@url_option
def show(job_id: int, *, events: int, as_json: bool) -> None:
    with open_app() as app:
        found = timeline.read(app.store, job_id, lines=events)
    if as_json:
        echo(json_document(found.plain()))
        return
    for line in (*_heading(found.job), *_letters(found)):
        echo(line)
    echo()
    _print_parts(found)
    echo()
    _print_moments(found)


def _heading(job: JobSnapshot) -> Iterable[str]:
    yield f"job {job.id}  {printable(job.kind)}  {job.status.value}"
    yield f"  key        {printable(job.key)}"
    yield f"  submitted  {job.created_at:%Y-%m-%d %H:%M:%S} UTC, {ago(job.created_at)}"
    if job.finished_at is not None:
        yield f"  took       {duration((job.finished_at - job.created_at).total_seconds())}"
    yield f"  payload    {json_line(job.payload)}"
    if job.output is not None:
        yield f"  output     {json_line(job.output)}"
    if job.failure is not None:
        yield f"  failure    {_failure(job.failure)}"
        yield from (f"             {printable(line)}" for line in str(job.failure.get("stack", "")).splitlines())


def _letters(found: Timeline) -> Iterable[str]:
    shown = [f"{letter.id} {letter.state.value}" for letter in found.letters[:LETTERS_SHOWN]]
    if shown:
        more = f" and {len(found.letters) - LETTERS_SHOWN} more" if len(found.letters) > LETTERS_SHOWN else ""
        yield f"  letters    {', '.join(shown)}{more}; see `leasehold dead show`"


def _print_parts(found: Timeline) -> None:
    groups = Counter((part.stage, part.status) for part in found.parts if part.segment is not None)
    stages = {part.stage for part in found.parts if part.segment is not None}
    shown = [part for part in found.parts if part.segment is None]
    for stage in sorted(filter(None, stages)):
        segments = [part for part in found.parts if part.segment is not None and part.stage == stage]
        shown += sorted(_pressing(segments), key=lambda part: part.id)
        if len(segments) > SEGMENTS_SHOWN:
            tally = ", ".join(f"{groups[stage, status]} {status}" for status in URGENCY if groups[stage, status])
            total = f"{printable(stage)}: {count(len(segments), 'segment')}"
            echo(f"{total}: {tally}; {SEGMENTS_SHOWN} are shown, --json prints all")
    print_table(PARTS, [_part_row(part) for part in _in_order(shown)])


def _pressing(segments: Sequence[JobPart]) -> list[JobPart]:
    """Return the most urgent segments: failed, then running, then done."""
    return sorted(segments, key=lambda part: (URGENCY.index(part.status), part.segment))[:SEGMENTS_SHOWN]


def _in_order(parts: Sequence[JobPart]) -> list[JobPart]:
    """Return each stage followed by its own segments."""
    places = {part.id: number for number, part in enumerate(parts)}
    return sorted(
        parts,
        key=lambda part: (
            (places.get(part.parent_id or 0, 0), part.segment + 1) if part.segment is not None else (places[part.id], 0)
        ),
    )


def _part_row(part: JobPart) -> list[object]:
    stage = "" if part.stage is None else part.stage if part.segment is None else f"  {part.stage} [{part.segment}]"
    attempt = f"{part.attempt}/{part.attempts_max}" if part.attempt else ""
    return [part.id, stage, part.status, attempt, _lease(part), _progress(part.progress), _failure(part.failure)]


def _lease(part: JobPart) -> str:
    if part.holder is not None:
        left = part.holder.expires_in
        expiry = f"expires in {duration(left)}" if left >= 0 else f"expired {duration(-left)} ago"
        return f"{part.holder.host}:{part.holder.pid}, {expiry}"
    if part.due_in is not None and part.due_in > 0:
        return f"due in {duration(part.due_in)}"
    return ""


def _progress(progress: Any) -> str:
    if not isinstance(progress, dict):
        return ""
    done = f"{progress.get('done')}/{progress['total']}" if "total" in progress else str(progress.get("done"))
    return f"{done} {progress.get('message', '')}".strip()


def _failure(failure: dict[str, Any] | None) -> str:
    return "" if failure is None else printable(f"{failure.get('error_class')}: {failure.get('message')}")


def _print_moments(found: Timeline) -> None:
    if found.earlier:
        echo(f"{count(found.earlier, 'earlier line')} left out; --events shows more")
    print_table(MOMENTS, [_moment_row(moment) for moment in found.moments])


def _moment_row(moment: Moment) -> list[object]:
    detail = "" if moment.detail is None else _detail(moment.detail)
    return [f"+{moment.since:.3f} s", moment.task_id, moment.name, moment.attempt or "", moment.worker or "", detail]


def _detail(detail: Any) -> str:
    if not isinstance(detail, dict):
        return json_line(detail)
    shown = ((name, len(value) if name == "effects" else value) for name, value in detail.items())
    return ", ".join(f"{name} {value}" for name, value in shown if name not in ("stack", "retryable"))
