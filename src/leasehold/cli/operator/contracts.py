"""`leasehold contracts`: do the rows of a run folder obey what was published about them?"""

from pathlib import Path
from typing import Final

import click

from leasehold.cli.options import ExitCode, group, json_option
from leasehold.cli.table import echo, print_found, print_lines
from leasehold.cli.text import count, printable
from leasehold.contracts import Checked, check_run

PROBLEMS_SHOWN: Final = 100
PROBLEMS_SHOWN_MAX: Final = 100_000
NO_DATABASE: Final = "Not used here: contracts are about files."


@group("leasehold contracts check runs/r-1", url=NO_DATABASE)
def contracts() -> None:
    """Check rows on disk against their published contracts.

    The contracts are JSON Schemas, in schemas/ of the repository and inside the package. Checking needs pip install
    'leasehold[contracts]', and no database.
    """


@contracts.subcommand(
    "leasehold contracts check runs/r-1",
    "leasehold contracts check runs/r-1 --json --max-problems 1000",
    url=NO_DATABASE,
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
def check(folder: Path, *, max_problems: int, as_json: bool) -> None:
    """Check a whole run folder.

    The manifest, every row of state/*.jsonl, review/normalized/*.jsonl and final/candidate_map.jsonl, that each is of
    the manifest's run and document, and the manifest's counts. Every problem is printed with file, line, JSON path and
    a reason code. The exit code is 1 if there is any.
    """
    found = check_run(folder, problems_kept=max_problems)
    print_found(found, _print, as_json=as_json)
    click.get_current_context().exit(ExitCode.OK if found.ok else ExitCode.CHECK_FAILED)


def _print(found: Checked) -> None:
    print_lines(map(printable, found.diagnostics))
    if hidden := found.problems - len(found.diagnostics):
        echo(f"… and {count(hidden, 'more problem')}")
    echo(f"{count(found.rows, 'row')}, {count(found.problems, 'problem') if found.problems else 'nothing wrong'}.")
