"""The command itself: its verbs, its exit codes, and what becomes of an error."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.metadata import entry_points
from typing import Any

import click

from leasehold.app.facade import DEFAULT_URL
from leasehold.cli import (
    cancel,
    dead,
    deliveries,
    doctor,
    effects,
    events,
    export,
    jobs,
    migrate,
    prune,
    queues,
    replay,
    show,
    submit,
    verify,
    worker,
)
from leasehold.cli.exits import MEANINGS, Exit, exit_of
from leasehold.cli.table import echo
from leasehold.cli.tour.command import tour
from leasehold.cli.verbs import URL_KEY, lesson, url_option
from leasehold.cli.words import safe
from leasehold.errors import LeaseholdError
from leasehold.insight.addresses import told


class Root(click.Group):
    """Runs a verb and turns our errors into one line and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        """Run the verb; nothing that Leasehold itself raises ends in a traceback."""
        try:
            return super().invoke(context)
        except LeaseholdError as error:
            url = context.meta.get(URL_KEY) or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL
            echo(safe(f"error {told(error, url)}"), error=True)
            context.exit(exit_of(error))
        except KeyboardInterrupt:
            context.exit(Exit.INTERRUPTED)
        except BrokenPipeError:
            _hush()
            context.exit(Exit.READER_GONE)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), meaning) for code, meaning in MEANINGS.items()])
        super().format_epilog(context, formatter)


def _hush() -> None:
    """Let what is still buffered go nowhere, so that nobody complains at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=lesson(
        "Jobs held by leases, on SQLite and on PostgreSQL: not lost, not done twice, and on the record.",
        [
            "leasehold tour                                    see it survive kill -9",
            "leasehold worker shop.jobs:app                    run the jobs of an app",
            "leasehold submit welcome '{\"user_id\": 7}' --wait  give it one",
            "leasehold jobs --status ERROR                     see what failed",
        ],
    ),
)
@click.version_option(package_name="leasehold")
@url_option
def root() -> None:
    """Jobs held by leases."""


for verb in (
    tour,
    worker.worker,
    worker.orchestrate,
    deliveries.relay,
    submit.submit,
    jobs.jobs,
    show.show,
    events.events,
    export.export,
    verify.verify,
    replay.replay,
    effects.effects,
    cancel.cancel,
    dead.dead,
    queues.queues,
    deliveries.deliveries,
    doctor.doctor,
    prune.prune,
    migrate.migrate,
):
    root.add_command(verb)

for found in entry_points(group="leasehold.pipelines"):
    root.add_command(found.load(), found.name)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    root(prog_name="leasehold")
