"""`leasehold jobs`: what is there, newest first."""

import sys

import click

from leasehold import Status
from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import Column, echo, print_found, print_table
from leasehold.cli.text import ago, duration, failure_text
from leasehold.insight.read import jobs as insight
from leasehold.insight.read.jobs import JobSnapshot
from leasehold.model.limits import PAGE_MAX
from leasehold.model.names import check_name


def took(job: JobSnapshot) -> str:
    return duration((job.finished_at - job.created_at).total_seconds()) if job.finished_at else ""


COLUMNS = (
    Column("ID", lambda job: job.id, right=True),
    Column("STATUS", lambda job: job.status.value),
    Column("KIND", lambda job: job.kind, rank=1, flexible=True),
    Column("KEY", lambda job: job.key, rank=2, flexible=True),
    Column("SUBMITTED", lambda job: ago(job.created_at), rank=4),
    Column("TOOK", took, rank=5, right=True),
    Column("FAILURE", lambda job: failure_text(job.failure), rank=3, flexible=True),
)


@command("leasehold jobs --status ERROR --kind welcome", "leasehold jobs --limit 100 --before 4711 --json")
@click.option("--status", type=click.Choice([status.value for status in Status], case_sensitive=False))
@click.option("--kind", help="Only jobs of this kind.")
@click.option("--queue", help="Only jobs of this queue.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True)
@click.option("--before", type=JOB_ID, metavar="ID", help="Only jobs older than this one.")
@json_option
def jobs(
    *, status: str | None, kind: str | None, queue: str | None, limit: int, before: int | None, as_json: bool
) -> None:
    """List jobs, newest first. A page ends after --limit jobs; --before ID continues where the last one ended."""
    kind = kind and check_name(kind, "kind")
    queue = queue and check_name(queue, "queue")
    with open_app() as app:
        found = insight.listing(app.store, status=status, kind=kind, queue=queue, before=before, limit=limit)
    print_found(found, lambda found: print_table(COLUMNS, found), as_json=as_json)
    if not as_json and len(found) == limit and sys.stdout.isatty():
        echo(f"older ones: --before {found[-1].id}")
