"""The command itself: its subcommands, its exit codes, and how errors are printed."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from leasehold.app.facade import DEFAULT_URL
from leasehold.cli.options import MEANINGS, URL_KEY, ExitCode, Group, exit_code_of
from leasehold.cli.table import echo
from leasehold.cli.text import printable
from leasehold.errors import DiskFull, LeaseholdError
from leasehold.redact.database_url import safe_text

if TYPE_CHECKING:
    from types import ModuleType

# A command is imported when it is called, so that starting one does not import the others.
MODULES: Final = {
    "jobs.events": ("events",),
    "jobs.explain": ("explain",),
    "jobs.jobs": ("effects", "jobs", "show"),
    "jobs.record": ("export", "replay", "verify"),
    "jobs.submit": ("cancel", "submit"),
    "operator.contracts": ("contracts",),
    "operator.database": ("doctor", "migrate", "prune"),
    "operator.dead": ("dead",),
    "operator.deliveries": ("deliveries",),
    "operator.queues": ("queues",),
    "operator.worker": ("orchestrate", "relay", "worker"),
    "tour.command": ("tour",),
}
COMMANDS: Final = {command: module for module, commands in MODULES.items() for command in commands}


class Root(Group):
    """Runs a command; an error of Leasehold becomes one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 — the same in every context
        return sorted({*COMMANDS, *_pipelines().find_pipelines().names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in COMMANDS:
            command: click.Command = getattr(import_module(f"leasehold.cli.{COMMANDS[cmd_name]}"), cmd_name)
            return command
        pipelines = _pipelines()
        return next(map(pipelines.load_pipeline, pipelines.find_pipelines().select(name=cmd_name)), None)

    def invoke(self, context: click.Context) -> Any:
        """Run the command; errors of Leasehold never end in a traceback."""
        try:
            return super().invoke(context)
        except LeaseholdError as error:
            url = context.meta.get(URL_KEY) or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL
            echo(printable(f"error {safe_text(error, url)}"), error=True)
            context.exit(exit_code_of(error))
        except KeyboardInterrupt:
            context.exit(ExitCode.INTERRUPTED)
        except BrokenPipeError:
            _drop_output()
            context.exit(ExitCode.READER_GONE)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) and error.filename:
                echo(
                    printable(f"error: {error.filename}: {error.strerror}; use a place that you may write to"),
                    error=True,
                )
                context.exit(ExitCode.MISUSE)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            _drop_output()
            where = f" It holds {error.filename}." if error.filename else ""
            echo(printable(f"error {DiskFull.code}: {DiskFull(where.strip())}"), error=True)
            context.exit(ExitCode.UNAVAILABLE)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), meaning) for code, meaning in MEANINGS.items()])
        super().format_epilog(context, formatter)


def _drop_output() -> None:
    """Have what is still buffered go nowhere: else Python reports at exit that it cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _pipelines() -> ModuleType:
    """Return the module that knows the installed pipelines; commands of the engine do not import what it needs."""
    return import_module("leasehold.cli.pipelines")


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    examples=[
        "leasehold tour                                    watch it survive kill -9",
        "leasehold worker shop.jobs:app                    run the jobs of an app",
        "leasehold submit welcome '{\"user_id\": 7}' --wait  submit one and wait for it",
        "leasehold jobs --status ERROR                     list what failed",
    ],
)
@click.version_option(package_name="leasehold")
def root() -> None:
    """Jobs held by leases, on SQLite and on PostgreSQL: not lost, not done twice, and on the record."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    root(prog_name="leasehold")
