"""What commands share: help with examples, `--url`, `--json`, and an app that is open while the command runs."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final, TypeVar

import click

from leasehold import Leasehold
from leasehold.errors import SchemaMissing
from leasehold.store.db.sqlite import SqliteDialect

URL_KEY: Final = "leasehold.url"
JOB_ID: Final = click.IntRange(1, 2**63 - 1)
F = TypeVar("F", bound=Callable[..., Any])


def help_with_examples(text: str, examples: Sequence[str]) -> str:
    """Return help: what the command does, then lines to copy, marked so that click does not join them."""
    head = "Example:" if len(examples) == 1 else "Examples:"
    return "\n\n".join((text, "\b\n" + "\n".join((head, *(f"  {line}" for line in examples)))))


def url_option(function: F) -> F:
    """Add `--url`, which may stand before or after the command's name."""
    return url_option_with_default(
        "Default: LEASEHOLD_URL, else sqlite:///leasehold.db. Others can read a command line: keep passwords in"
        " LEASEHOLD_URL."
    )(function)


def url_option_with_default(default: str) -> Callable[[F], F]:
    """Add `--url` with its own explanation of the default."""
    return click.option(
        "--url",
        metavar="URL",
        expose_value=False,
        callback=_remember,
        help=f"The database: sqlite:///file.db or postgresql://host/name. {default}",
    )


def json_option(function: F) -> F:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)


def given_url() -> str | None:
    """Return the URL of the command line; None without one."""
    found: str | None = click.get_current_context().meta.get(URL_KEY)
    return found


def export_url() -> None:
    """Put the command line's URL into LEASEHOLD_URL, where an app that is imported next reads it."""
    if url := given_url():
        os.environ["LEASEHOLD_URL"] = url


@contextmanager
def open_app(*, must_exist: bool = True) -> Iterator[Leasehold]:
    """Open the command's database. A command that only reads never creates a SQLite file."""
    with closing(Leasehold(given_url())) as app:
        if must_exist:
            check_file_exists(app)
        app.store.prepare()
        yield app


def check_file_exists(app: Leasehold) -> None:
    """Raise if the database is a file that does not exist."""
    dialect = app.store.database.dialect
    if isinstance(dialect, SqliteDialect) and not dialect.path.exists():
        raise SchemaMissing(f"There is no file {dialect.path}.")


def _remember(context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.meta[URL_KEY] = value
