"""`leasehold agents report`: the page of a session, as one file."""

from __future__ import annotations

from pathlib import Path

import click

from leasehold.pipelines.agents.cli.options import place_options
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.view.report import write_report
from leasehold.pipelines.shell.options import help_with_examples


@click.command(
    help=help_with_examples(
        "Write the report of SESSION and print where it is: what happened, budgets over time, the order of dispatches,"
        " and each child with its result, evidence and diff.\n\nIt is one HTML file that loads nothing else; links lead"
        " to the files that are kept. While the session runs it shows the session as it is now.",
        ["leasehold agents report demo", "leasehold agents report demo -o demo.html"],
    )
)
@click.argument("session_id", metavar="SESSION")
@click.option(
    "-o", "--output", "path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it. Default: report.html in the session's folder.",
)  # fmt: skip
@place_options
def report(session_id: str, path: Path | None, folder: Path, url: str) -> None:
    with open_place(folder, url, is_new=False) as place:
        click.echo(write_report(place, session_id, path))
