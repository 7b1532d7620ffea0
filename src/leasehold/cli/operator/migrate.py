"""`leasehold migrate`: bring a database's schema to this version."""

from contextlib import closing

import click

from leasehold import Leasehold
from leasehold.cli.options import given_url, help_with_examples, url_option
from leasehold.cli.table import echo


@click.command(
    help=help_with_examples(
        "Create or upgrade the database's schema.\n\nUnder a lock, forward only; prints its version before and after."
        " Running it again changes nothing. A schema that is newer than this Leasehold is refused.",
        ["leasehold migrate --url sqlite:///shop.db"],
    )
)
@url_option
def migrate() -> None:
    """Bring the schema to this version."""
    with closing(Leasehold(given_url())) as app:
        before, after = app.migrate()
    if before == after:
        echo(f"schema version {after}: nothing to do")
    else:
        echo(f"schema version {before} -> {after}")
