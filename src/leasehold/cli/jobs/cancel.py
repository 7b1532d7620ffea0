"""`leasehold cancel`: cancel a job."""

import click

from leasehold import Status
from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.options import JOB_ID, help_with_examples, open_app, url_option
from leasehold.cli.table import echo


@click.command(
    help=help_with_examples(
        "Cancel a job with all its tasks.\n\nTasks that have not started end at once; running ones are asked to stop,"
        " and end when their handler returns. A job that has already ended is not changed, and the exit code is 1.",
        ["leasehold cancel 4711 --reason 'ordered twice'"],
    )
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option("--reason", default="", help="Kept with the job.")
@url_option
def cancel(job_id: int, reason: str) -> None:
    with open_app() as app:
        status = app.cancel(job_id, reason=reason).status
    if not status.settled:
        echo(f"job {job_id} is asked to stop")
    elif status is Status.CANCELLED:
        echo(f"job {job_id} is CANCELLED")
    else:
        echo(f"job {job_id} had already ended {status}; nothing was changed", error=True)
        click.get_current_context().exit(ExitCode.CHECK_FAILED)
