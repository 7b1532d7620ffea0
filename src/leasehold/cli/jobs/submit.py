"""`leasehold submit`: one job, from the command line or from a program's standard output; and `leasehold cancel`."""

import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from leasehold import Job, Status, canonical
from leasehold.app.submitting import check_types
from leasehold.cli.options import JOB_ID, ExitCode, command, find_app, json_option, open_app
from leasehold.cli.table import echo
from leasehold.cli.text import json_document, json_line, printable
from leasehold.errors import PayloadInvalid
from leasehold.insight.read import jobs
from leasehold.model.limits import DELAY_SECONDS_MAX
from leasehold.model.names import check_range


@command(
    "leasehold submit welcome '{\"user_id\": 7}' --key welcome:7",
    "leasehold submit review '{\"change\": 4711}' --key cl-4711 --version 2",
    'leasehold submit session \'{"plan": "a"}\' --budget tokens=20000 --budget calls=40',
    'echo \'{"path": "a.md"}\' | leasehold submit film - --app shop.films:app --wait --timeout 60',
)
@click.argument("kind")
@click.argument("payload", default="{}", metavar="[PAYLOAD|-]")
@click.option("--key", help="Makes the job unique among those of its kind.")
@click.option("--version", type=int, metavar="N", help="A version of the key: N must be the newest, or higher.")
@click.option("--priority", type=int, default=0, show_default=True, help="Higher runs first.")
@click.option("--delay", type=float, default=0.0, metavar="S", help="Start no sooner than in S seconds.")
@click.option(
    "--budget", multiple=True, metavar="NAME=N", help="How much the job and everything below it may spend; repeatable."
)
@click.option("--wait", is_flag=True, help="Wait for the job and print its result.")
@click.option("--timeout", type=float, metavar="S", help="Wait at most S seconds.")
@click.option(
    "--app", "app_name", metavar="MODULE:APP",
    help="The app that declares the kind; imported with this folder on the path.",
)  # fmt: skip
@json_option
def submit(
    kind: str,
    payload: str,
    *,
    budget: Sequence[str],
    wait: bool,
    timeout: float | None,
    app_name: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Submit a job and print its id.

    PAYLOAD is a JSON object whose fields become the handler's arguments; '-' reads it from standard input. A field must
    have the type of its annotation there, if that is str, int, float, bool, list, dict, None or a union of these. KIND
    must be known: a worker of its app has started once on this database, or --app names the app. With --key the same
    job is submitted only once, however often this is run. With --wait the exit code is 1 unless the job ends DONE, and
    3 if it takes longer than --timeout.
    """
    if timeout is not None:
        if not wait:
            raise click.UsageError("--timeout needs --wait.")
        check_range(timeout, 0, DELAY_SECONDS_MAX, "timeout (seconds)")
    fields = canonical.parse(read_payload(payload))
    with closing(find_app(app_name)) if app_name else open_app() as app:
        check_types(app._ready_store, kind, fields)  # noqa: SLF001 — for commands alone
        job = app.submit(kind, fields, budget=read_budget(budget), **options)
        if not as_json:
            echo(str(job.id))
        status = job.wait(timeout).status if wait else None
        if as_json:
            echo(json_document(jobs.find(app.store, job.id).plain()))
        elif status is not None:
            echo(ending(job))
    if status not in (None, Status.DONE):
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def read_budget(given: Sequence[str]) -> dict[str, int] | None:
    """Return the limits that `--budget` names."""
    limits: dict[str, int] = {}
    for text in given:
        name, found, limit = text.partition("=")
        if not found or not limit.replace("_", "").isdecimal():
            raise click.UsageError(f"--budget is NAME=N with a whole number, such as tokens=20000; got {text!r}.")
        limits[name] = int(limit)
    return limits or None


def ending(job: Job) -> str:
    if job.status is Status.DONE:
        return f"DONE {json_line(job.output)}"
    failure = job.failure or {}
    return printable(f"{job.status} {failure.get('error_class', '')}: {failure.get('message', '')}")


def read_payload(given: str) -> str:
    """Return the payload's text; no more of standard input is read than a payload may have."""
    if given != "-":
        return given
    found = sys.stdin.buffer.read(4 * canonical.VALUE_BYTES_MAX + 1)
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadInvalid(f"Standard input is not UTF-8: {error.reason} at byte {error.start}.") from None


@command("leasehold cancel 4711 --reason 'ordered twice'")
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@click.option("--reason", default="", help="Kept with the job.")
@click.option("--request", metavar="NAME", help="Names the request in every end that it causes.")
def cancel(job_id: int, reason: str, request: str | None) -> None:
    """Cancel a job with all its tasks, and all jobs below it.

    Tasks that have not started end at once; running ones are asked to stop, and end when their handler returns. A job
    that has already ended is not changed, and the exit code is 1; the jobs that it has submitted are cancelled
    nevertheless.
    """
    with open_app() as app:
        status = app.cancel(job_id, reason=reason, request=request).status
    if not status.settled:
        echo(f"job {job_id} is asked to stop")
    elif status is Status.CANCELLED:
        echo(f"job {job_id} is CANCELLED")
    else:
        echo(f"job {job_id} had already ended {status} and was not changed", error=True)
        click.get_current_context().exit(ExitCode.CHECK_FAILED)
