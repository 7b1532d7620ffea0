"""`leasehold contracts`: do the rows of a run folder obey what was published about them?"""

from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.options import help_with_examples, json_option, url_option_with_default
from leasehold.cli.table import echo
from leasehold.cli.text import count, json_document, printable
from leasehold.contracts import Checked, check_run

PROBLEMS_SHOWN: Final = 100
PROBLEMS_SHOWN_MAX: Final = 100_000
no_database = url_option_with_default("Not used here: contracts are about files.")


@click.group(
    help=help_with_examples(
        "Check rows on disk against their published contracts.\n\nThe contracts are JSON Schemas, in schemas/ of the"
        " repository and inside the package. Checking needs pip install 'leasehold[contracts]', and no database.",
        ["leasehold contracts check runs/r-1"],
    )
)
@no_database
def contracts() -> None:
    """Check rows against their contracts."""


@contracts.command(
    help=help_with_examples(
        "Check a whole run folder.\n\nThe manifest, every row of state/*.jsonl, review/normalized/*.jsonl and"
        " final/candidate_map.jsonl, that each is of the manifest's run and document, and the manifest's counts. Every"
        " problem is printed with file, line, JSON path and a reason code. The exit code is 1 if there is any.",
        ["leasehold contracts check runs/r-1", "leasehold contracts check runs/r-1 --json --max-problems 1000"],
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--max-problems",
    metavar="N",
    type=click.IntRange(0, PROBLEMS_SHOWN_MAX),
    default=PROBLEMS_SHOWN,
    show_default=True,
    help="Show the first N problems; all are counted.",
)
@json_option
@no_database
def check(folder: Path, *, max_problems: int, as_json: bool) -> None:
    found = check_run(folder, problems_kept=max_problems)
    if as_json:
        echo(json_document(asdict(found)))
    else:
        _print(found)
    click.get_current_context().exit(ExitCode.OK if found.ok else ExitCode.CHECK_FAILED)


def _print(found: Checked) -> None:
    for diagnostic in found.diagnostics:
        echo(printable(diagnostic))
    if hidden := found.problems - len(found.diagnostics):
        echo(f"… and {count(hidden, 'more problem')}")
    echo(f"{count(found.rows, 'row')}, {count(found.problems, 'problem') if found.problems else 'nothing wrong'}.")
