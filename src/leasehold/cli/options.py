"""What commands share: exit codes, help with examples, `--url`, `--json`, and the database or app they work on."""

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import IntEnum
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import click

from leasehold import Leasehold
from leasehold.cli.text import printable
from leasehold.errors import AppInvalid, LeaseholdError, Misuse, Overtaken, Unavailable, did_you_mean

PACKAGE: Final = "leasehold"
URL_KEY: Final = "leasehold.url"
JOB_ID: Final = click.IntRange(1, 2**63 - 1)
URL_DEFAULT: Final = (
    "Default: LEASEHOLD_URL, else sqlite:///leasehold.db. Others can read a command line: keep passwords in"
    " LEASEHOLD_URL."
)


class ExitCode(IntEnum):
    """How the command ended. Programs may rely on these numbers."""

    OK = 0
    CHECK_FAILED = 1
    MISUSE = 2
    UNAVAILABLE = 3
    OVERTAKEN = 4
    BROKEN = 5
    INTERRUPTED = 130
    READER_GONE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.CHECK_FAILED: "the command ran, and found a problem: the tour lost something, the doctor found trouble,"
    " verify found a difference, a row of a run breaks its contract, a replay diverged, the job that was waited for did"
    " not end DONE, the job to cancel had already ended, a letter was refused or would be; or a second signal stopped a"
    " worker at once",
    ExitCode.MISUSE: "the command or its input must be changed",
    ExitCode.UNAVAILABLE: "the database cannot be reached, denies a right or has no space left, or a wait took too"
    " long: try again",
    ExitCode.OVERTAKEN: "another process was faster, or the job has ended: nothing was changed",
    ExitCode.BROKEN: "an invariant does not hold: stop and investigate",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C (143: with SIGTERM; 141: the reader of the output has gone)",
}


def exit_code_of(error: LeaseholdError) -> ExitCode:
    """Return the code for an error: its class names who must act."""
    codes: dict[type[LeaseholdError], ExitCode]
    codes = {Misuse: ExitCode.MISUSE, Unavailable: ExitCode.UNAVAILABLE, Overtaken: ExitCode.OVERTAKEN}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ExitCode.BROKEN)


def help_with_examples(text: str, examples: Sequence[str]) -> str:
    """Return help: what the command does, then lines to copy, marked so that click does not join them."""
    head = "Example:" if len(examples) == 1 else "Examples:"
    return "\n\n".join((text, "\b\n" + "\n".join((head, *(f"  {line}" for line in examples)))))


class Command(click.Command):
    """A command whose help is its docstring and examples. `url` explains the default of its last option, `--url`."""

    def __init__(self, *args: Any, examples: Sequence[str], url: str = URL_DEFAULT, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = help_with_examples(cleandoc(self.help or ""), examples)
        help_text = f"The database: sqlite:///file.db or postgresql://host/name. {url}"
        self.params += [click.Option(["--url"], metavar="URL", expose_value=False, callback=_remember, help=help_text)]


class Group(Command, click.Group):
    """A command with subcommands; an unknown one is refused with the nearest name."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        is_word = not args[0].startswith("-") and not context.resilient_parsing  # a shell completes half a word
        if is_word and self.get_command(context, args[0]) is None:
            hint = did_you_mean(args[0], self.list_commands(context))
            context.fail(f"No such command '{printable(args[0][:80])}'.{hint}")
        return super().resolve_command(context, args)

    def subcommand(self, *examples: str, **settings: Any) -> Callable[[Callable[..., Any]], click.Command]:
        return self.command(cls=Command, examples=examples, **settings)


def command(*examples: str, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    return click.command(cls=Command, examples=examples, **settings)


def group(*examples: str, **settings: Any) -> Callable[[Callable[..., Any]], Group]:
    return click.group(cls=Group, examples=examples, **settings)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def _remember(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[URL_KEY] = value


def given_url() -> str | None:
    """Return the URL of the command line; None without one."""
    found: str | None = click.get_current_context().meta.get(URL_KEY)
    return found


@contextmanager
def open_app(*, must_exist: bool = True) -> Iterator[Leasehold]:
    """Open the command's database. A command that reads makes neither a file nor a schema."""
    with closing(Leasehold(given_url())) as app:
        if must_exist:
            app.store.require_schema()
        else:
            app.store.prepare()
        yield app


def find_app(name: str) -> Leasehold:
    """Import the module, with this folder on the path, and return its app; `AppInvalid` names what is missing.

    An app of this package, which the workers of a pipeline serve, does not need the folder: a `random.py` next to a
    document must not run.
    """
    module_name, found, attribute = name.partition(":")
    attribute = attribute if found else "app"
    if not (module_name and attribute):
        raise AppInvalid(f"Got '{name}'; write it like shop.jobs:app.")
    if url := given_url():
        os.environ["LEASEHOLD_URL"] = url  # where the app that is imported next reads it
    if module_name.partition(".")[0] != PACKAGE and (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    module = _import(module_name)
    app = getattr(module, attribute, None)
    if not isinstance(app, Leasehold):
        raise AppInvalid(_complaint(module, attribute))
    if url and app.url != url:
        app.close()
        remedy = "write `Leasehold()` without a URL there, or drop --url"
        raise Misuse(f"'{name}' names its own URL, so --url would be ignored; {remedy}.")
    return app


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except LeaseholdError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise AppInvalid(f"There is no module '{error.name}' in this folder or on the path.") from None
        raise AppInvalid(f"Importing '{name}' failed: {error}; install what is missing.") from error
    except (Exception, SystemExit) as error:
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        cause = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise AppInvalid(f"Importing '{name}' failed in {frame.f_code.co_filename}, line {line}: {cause}.") from error


def _complaint(module: ModuleType, attribute: str) -> str:
    apps = sorted(name for name, value in vars(module).items() if isinstance(value, Leasehold))
    hint = f"Its apps: {', '.join(apps)}." if apps else "It has none: write `app = Leasehold()` there."
    if not hasattr(module, attribute):
        return f"'{module.__name__}' has no '{attribute}'. {hint}"
    return f"'{module.__name__}:{attribute}' is of type {type(getattr(module, attribute)).__name__}. {hint}"
