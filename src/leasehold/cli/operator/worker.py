"""`leasehold worker` runs an app's jobs, `orchestrate` only keeps work moving, `relay` sends. All until a signal."""

import logging
import sys
from contextlib import closing

import click

from leasehold.cli.options import command, find_app, open_app
from leasehold.cli.text import parse_count
from leasehold.errors import OptionInvalid
from leasehold.runtime import run
from leasehold.runtime.observe.events import TRACEBACKS

LEVELS = click.Choice(("debug", "info", "warning", "error"), case_sensitive=False)
level_option = click.option("--log-level", type=LEVELS, default="info", show_default=True)
tracebacks_option = click.option("--tracebacks", is_flag=True, help="Log the traceback of every failed attempt.")


@command(
    "leasehold worker shop.jobs:app",
    "leasehold worker shop.jobs:app --queue mail=10 --queue default --concurrency 50",
    "LEASEHOLD_URL=postgresql://db/shop leasehold worker shop.jobs:app --grace 60",
)
@click.argument("app", metavar="MODULE:APP")
@click.option(
    "--queue",
    "queues",
    metavar="NAME[=N]",
    multiple=True,
    help="Serve this queue, at most N of its tasks at once in this process. Repeatable. Default: all of the app's.",
)
@click.option(
    "--concurrency", metavar="N", type=int, default=50, show_default=True, help="Tasks at once in this process."
)
@click.option(
    "--grace", metavar="S", type=float, default=30.0, show_default=True, help="Seconds to finish after a signal."
)
@level_option
@tracebacks_option
def worker(
    app: str, queues: tuple[str, ...], concurrency: int, grace: float, log_level: str, *, tracebacks: bool
) -> None:
    """Run the jobs of an app until a signal.

    MODULE:APP names a Leasehold object; it is imported with this folder on the path. SIGTERM or SIGINT (Ctrl-C) stops
    claiming, releases tasks that have not started, and lets the others finish within --grace; then the exit code is 0.
    A second signal stops at once, with exit code 1: tasks that still ran run again, at once by a worker on the same
    host, by one elsewhere once the lease has expired.
    """
    log_to_stderr(log_level)
    if tracebacks:
        logging.getLogger(TRACEBACKS).setLevel(logging.DEBUG)
    chosen = dict(parse_queue(queue) for queue in queues) or None
    with closing(find_app(app)) as found:
        found.work(concurrency=concurrency, queues=chosen, grace=grace)


@command("leasehold orchestrate --url postgresql://db/shop")
@level_option
def orchestrate(log_level: str) -> None:
    """Make tasks ready and reclaim expired leases.

    It runs no handlers. Every worker does this too; run it separately where workers start and stop often. It needs none
    of your code; any number may run. Ends with exit code 0 on SIGTERM or SIGINT.
    """
    log_to_stderr(log_level)
    with open_app(must_exist=False) as app:
        run.orchestrate(app.store)


@command("leasehold relay shop.jobs:app")
@click.argument("app", metavar="MODULE:APP")
@level_option
def relay(app: str, log_level: str) -> None:
    """Send the deliveries of an app's providers until a signal.

    A worker of an app with providers does this too; run it separately to keep credentials away from the jobs. Keeps
    work moving like `orchestrate`; any number may run. MODULE:APP is imported with this folder on the path. Ends with
    exit code 0 on SIGTERM or SIGINT, after what is being sent.
    """
    log_to_stderr(log_level)
    with closing(find_app(app)) as found:
        found.deliveries.relay()


def parse_queue(text: str) -> tuple[str, int | None]:
    """Parse `name` or `name=10`."""
    name, found, cap = text.partition("=")
    number = parse_count(cap)
    if found and number is None:
        raise OptionInvalid(f"--queue is written name or name=10; got '{text[:80]}'.")
    return name, number


def log_to_stderr(level: str) -> None:
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
