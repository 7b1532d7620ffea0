"""`leasehold show`: one job in full: its tasks, who holds them, and its journal as a time line."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_lines, print_table
from leasehold.cli.text import ago, count, duration, failure_text, json_line, printable, stage_text, utc
from leasehold.insight.read import timeline
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.insight.read.timeline import JobPart, Timeline

SEGMENTS_SHOWN: Final = 40
LETTERS_SHOWN: Final = 5
URGENCY: Final = ("ERROR", "RUNNING", "READY", "NEW", "CANCELLED", "DONE")


def _lease(part: JobPart) -> str:
    if part.holder is not None:
        left = part.holder.expires_in
        expiry = f"expires in {duration(left)}" if left >= 0 else f"expired {duration(-left)} ago"
        return f"{part.holder.host}:{part.holder.pid}, {expiry}"
    if part.due_in is not None and part.due_in > 0:
        return f"due in {duration(part.due_in)}"
    return ""


PARTS: Final = (
    Column("TASK", lambda part: part.id, right=True),
    Column(
        "STAGE",
        lambda part: ("" if part.segment is None else "  ") + stage_text(part.stage, part.segment),
        rank=1,
        flexible=True,
    ),
    Column("STATUS", lambda part: part.status),
    Column("ATTEMPT", lambda part: f"{part.attempt}/{part.attempts_max}" if part.attempt else "", rank=3),
    Column("LEASE", _lease, rank=4, flexible=True),
    Column("PROGRESS", lambda part: _progress(part.progress), rank=5, flexible=True),
    Column("FAILURE", lambda part: failure_text(part.failure), rank=2, flexible=True),
)
MOMENTS: Final = (
    Column("SINCE", lambda moment: f"+{moment.since:.3f} s", right=True),
    Column("TASK", lambda moment: moment.task_id, rank=1, right=True),
    Column("EVENT", lambda moment: moment.name),
    Column("ATTEMPT", lambda moment: moment.attempt or "", rank=3, right=True),
    Column("WORKER", lambda moment: moment.worker or "", rank=4, right=True),
    Column("DETAIL", lambda moment: "" if moment.detail is None else _detail(moment.detail), rank=2, flexible=True),
)


@command("leasehold show 4711", "leasehold show 4711 --events 1000 --json")
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option(
    "--events", type=click.IntRange(0, 50_000), default=200, show_default=True, help="Number of latest journal lines."
)
@json_option
def show(job_id: int, *, events: int, as_json: bool) -> None:
    """Show a job in full.

    Its payload and result; its stages and segments with attempts, leases, progress and failures; and its journal as a
    time line that starts with the submit.
    """
    with open_app() as app:
        found = timeline.read(app.store, job_id, lines=events)
    print_found(found, _print, as_json=as_json)


def _print(found: Timeline) -> None:
    print_lines((*_heading(found.job), *_letters(found), ""))
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
        yield f"  took       {duration((job.finished_at - job.created_at).total_seconds())}"
    yield f"  payload    {json_line(job.payload)}"
    if job.output is not None:
        yield f"  output     {json_line(job.output)}"
    if job.failure is not None:
        yield f"  failure    {failure_text(job.failure)}"
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
        urgent = sorted(segments, key=lambda part: (URGENCY.index(part.status), part.segment))[:SEGMENTS_SHOWN]
        shown += sorted(urgent, key=lambda part: part.id)
        if len(segments) > SEGMENTS_SHOWN:
            tally = ", ".join(f"{groups[stage, status]} {status}" for status in URGENCY if groups[stage, status])
            total = f"{printable(stage)}: {count(len(segments), 'segment')}"
            echo(f"{total}: {tally}; {SEGMENTS_SHOWN} are shown, --json prints all")
    print_table(PARTS, _in_order(shown))


def _in_order(parts: Sequence[JobPart]) -> list[JobPart]:
    """Return each stage followed by its own segments."""
    places = {part.id: number for number, part in enumerate(parts)}
    return sorted(
        parts,
        key=lambda part: (
            (places.get(part.parent_id or 0, 0), part.segment + 1) if part.segment is not None else (places[part.id], 0)
        ),
    )


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
