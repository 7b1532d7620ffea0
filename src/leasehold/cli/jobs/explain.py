"""`leasehold explain`: why a job does not run, and what to do."""

import click

from leasehold.cli.options import JOB_ID, command, json_option, open_app
from leasehold.cli.table import echo, print_found, print_lines
from leasehold.cli.text import printable
from leasehold.insight.explain.explanation import Cause, Explanation
from leasehold.insight.explain.read import explain as explain_job
from leasehold.runtime.process_identity import is_gone, this_process


@command("leasehold explain 4711", "leasehold explain 4711 --json")
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@json_option
def explain(job_id: int, *, as_json: bool) -> None:
    """Explain why a job does not run, and what to do.

    Paused, limited, not due, waiting for other tasks, without a worker that has its kind or serves its queue, running
    since when and by whom, retried after which failure, or ended. Of a pipeline, every cause by stage; the one to act
    on comes first. MODULE:APP in an advice stands for your app. Changes nothing.
    """
    with open_app() as app:
        found = explain_job(app.store, job_id, this_process(), is_gone)
    print_found(found, _print_explanation, as_json=as_json)


def _print_explanation(found: Explanation) -> None:
    echo(f"job {found.job_id}  {found.status.value}")
    for cause in found.causes:
        print_lines(cause_lines(cause))


def cause_lines(cause: Cause) -> list[str]:
    """Return a cause as two lines: why, and what to do."""
    return [f"  {printable(cause.why)}", f"  -> {printable(cause.advice)}"]
