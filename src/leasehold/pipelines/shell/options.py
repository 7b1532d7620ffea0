"""Command-line parts that pipelines share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from leasehold.cli.options import URL_KEY, help_with_examples, json_option
from leasehold.cli.text import printable
from leasehold.errors import did_you_mean
from leasehold.pipelines.shell.extras import explain_missing

__all__ = ["CONTEXT", "SIGNALLED", "GroupWithDefault", "folder_command", "help_with_examples", "json_option"]
__all__ += ["url_option", "workers_option"]

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
SIGNALLED: Final = 128  # plus the number of the signal: the exit code of a command that was stopped
F = TypeVar("F", bound=Callable[..., Any])


class GroupWithDefault(click.Group):
    """A group whose first argument may also be that of its default command: `download papers.jsonl`."""

    default_command: str
    extra: str

    @classmethod
    def of(cls, default: str, extra: str = "") -> type[GroupWithDefault]:
        return type(cls.__name__, (cls,), {"default_command": default, "extra": extra})

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Insert the default command unless one is named; `--url URL` may stand before it."""
        start = 2 if args[:1] == ["--url"] else 1 if args and args[0].startswith("--url=") else 0
        if len(args) > start and args[start] not in self.commands and args[start] not in ("-h", "--help"):
            self._refuse_mistyped(context, args[start])
            args = [*args[:start], self.default_command, *args[start:]]
        return super().parse_args(context, args)

    def _refuse_mistyped(self, context: click.Context, word: str) -> None:
        if not context.resilient_parsing and not Path(word).exists() and (hint := did_you_mean(word, self.commands)):
            context.fail(f"No such command or file '{printable(word[:80])}'.{hint}")

    def invoke(self, context: click.Context) -> Any:
        """Run the command; if a module of the extra is missing, print how to install it."""
        try:
            return super().invoke(context)
        except ModuleNotFoundError as error:
            if not self.extra:
                raise
            raise explain_missing(error, self.extra) from error


def url_option(function: F) -> F:
    """Add `--url` for folders whose jobs are in a database outside the folder."""
    return click.option(
        "--url",
        default="",
        metavar="URL",
        callback=_remember_url,
        help="The database, if it is not in the folder: postgresql://…  Others can read a command line: keep passwords"
        " in LEASEHOLD_URL, which is used if the folder was created with such a database.",
    )(function)


def _remember_url(context: click.Context, _: click.Parameter, value: str) -> str:
    """Return the command's own URL or that of `leasehold --url`. Errors are printed without its secrets."""
    if value:
        context.meta[URL_KEY] = value
    return context.meta.get(URL_KEY) or ""


def folder_command(
    group: click.Group, metavar: str, name: str, *examples: str
) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command of a group about an existing folder, with `--url`. Its docstring is its help."""

    def make(function: Callable[..., Any]) -> click.Command:
        lines = [f"leasehold {group.name} {line}" for line in examples]
        text = help_with_examples(cleandoc(function.__doc__ or ""), lines)
        existing = click.Path(exists=True, file_okay=False, path_type=Path)
        folder = click.argument("folder", metavar=metavar, type=existing)
        return group.command(name, help=text)(folder(url_option(function)))

    return make


def workers_option(default: int) -> Callable[[F], F]:
    return click.option(
        "--workers", type=click.IntRange(1, 64), default=default, show_default=True, help="Worker processes."
    )
