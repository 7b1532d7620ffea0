"""`leasehold jobs`: what is there, newest first."""

import sys

import click

from leasehold import Status
from leasehold.cli.options import JOB_ID, help_with_examples, json_option, open_app, url_option
from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import ago, duration, json_document
from leasehold.insight.read import jobs as insight
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.model.limits import PAGE_MAX
from leasehold.model.names import check_name

COLUMNS = (
    Column("ID", right=True),
    Column("STATUS"),
    Column("KIND", rank=1, flexible=True),
    Column("KEY", rank=2, flexible=True),
    Column("SUBMITTED", rank=4),
    Column("TOOK", rank=5, right=True),
    Column("FAILURE", rank=3, flexible=True),
)


@click.command(
    help=help_with_examples(
        "List jobs, newest first. A page ends after --limit jobs; --before ID continues where the last one ended.",
        ["leasehold jobs --status ERROR --kind welcome", "leasehold jobs --limit 100 --before 4711 --json"],
    )
)
@click.option("--status", type=click.Choice([status.value for status in Status], case_sensitive=False))
@click.option("--kind", help="Only jobs of this kind.")
@click.option("--queue", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True)
@click.option("--before", type=JOB_ID, metavar="ID", help="Only jobs older than this one.")
@json_option
@url_option
def jobs(
    *, status: str | None, kind: str | None, queue: str | None, limit: int, before: int | None, as_json: bool
) -> None:
    kind = kind and check_name(kind, "kind")
    queue = queue and check_name(queue, "queue")
    with open_app() as app:
        found = insight.listing(app.store, status=status, kind=kind, queue=queue, before=before, limit=limit)
    if as_json:
        echo(json_document([job.plain() for job in found]))
        return
    print_table(COLUMNS, [_row(job) for job in found])
    if len(found) == limit and sys.stdout.isatty():
        echo(f"older ones: --before {found[-1].id}")


def _row(job: JobSnapshot) -> list[object]:
    took = duration((job.finished_at - job.created_at).total_seconds()) if job.finished_at else ""
    failure = f"{job.failure.get('error_class')}: {job.failure.get('message')}" if job.failure else ""
    return [job.id, job.status.value, job.kind, job.key, ago(job.created_at), took, failure]
