"""`leasehold tour`: the promise, shown on this machine in a few seconds."""

from __future__ import annotations

import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from leasehold.cli.exits import Exit
from leasehold.cli.table import echo
from leasehold.cli.tour.course import Course, Wish
from leasehold.cli.tour.crew import Crew
from leasehold.cli.tour.kinds import make_tour
from leasehold.cli.tour.marks import MarkReader
from leasehold.cli.tour.screen import opened_screen, print_verdict
from leasehold.cli.tour.verdict import Verdict, judge
from leasehold.cli.verbs import given_url, help_with_examples, url_option_saying
from leasehold.cli.words import safe
from leasehold.redact.database_url import masked
from leasehold.store.db.sqlite_wake import folder_of

DATABASE = "tour.db"
KILLS = 5
JOBS_PER_KILL = 20
LOG_LINES = 40


@click.command(
    help=help_with_examples(
        "See Leasehold survive kill -9.\n\nSmall jobs and one film in three stages (script, 20 sounds, render) are put"
        " on a new SQLite file; worker processes run them; about every second one is killed with SIGKILL in the middle"
        " of its work and replaced.\n\nThe table at the end is computed from the database and from a journal that the"
        " handlers wrote themselves. The exit code is 1 if a job was lost, a task was settled twice, the two disagree,"
        " or fewer kills than wished hit work. With --url the jobs stay in that database; without, everything is"
        " removed (see --keep).",
        ["leasehold tour", "leasehold tour --jobs 10000 --kills 20 --url postgresql://localhost/test"],
    )
)
@click.option("--jobs", type=click.IntRange(1, 1_000_000), default=2_000, show_default=True, help="Small jobs.")
@click.option("--kills", type=click.IntRange(0, 1_000), help="At least so many.  [default: 5, fewer for few jobs]")
@click.option("--workers", type=click.IntRange(1, 64), default=3, show_default=True, help="Processes at once.")
@click.option("--keep", is_flag=True, help="Keep the folder with the SQLite file, the journal and the workers' log.")
@url_option_saying("Default: a new SQLite file; LEASEHOLD_URL is not used. Others can read a command line.")
def tour(*, jobs: int, kills: int | None, workers: int, keep: bool) -> None:
    """See Leasehold survive kill -9."""
    if kills is None:
        kills = min(KILLS, jobs // JOBS_PER_KILL)
    if kills * JOBS_PER_KILL > jobs:
        raise click.UsageError(f"{kills} kills need at least {kills * JOBS_PER_KILL} jobs to hit.")
    with _terminable(), _folder(keep=keep) as folder:
        verdict = _go(folder, Wish(jobs, kills, workers))
        print_verdict(verdict)
        if not verdict.holds:
            _print_log(folder)
    if not verdict.holds:
        click.get_current_context().exit(Exit.CHECK_FAILED)


def _go(folder: Path, wish: Wish) -> Verdict:
    run, marks = secrets.token_hex(4), folder / "handlers.journal"
    url = given_url() or f"sqlite:///{folder}/{DATABASE}"
    echo(f"{wish.jobs:,} jobs and a film, {wish.workers} workers, on {safe(masked(url))}")
    environment = {"LEASEHOLD_URL": url, "LEASEHOLD_TOUR_RUN": run, "LEASEHOLD_TOUR_MARKS": str(marks)}
    made = make_tour(run, str(marks), url)
    with closing(made.app), closing(Crew(environment, folder / "workers.log")) as crew, opened_screen() as screen:
        course = Course(made, crew, MarkReader(marks), wish, screen)
        try:
            return judge(course.run())
        except (KeyboardInterrupt, SystemExit):
            crew.close()
            if given_url():
                course.call_off()
            raise


@contextmanager
def _folder(*, keep: bool) -> Iterator[Path]:
    """Give a folder that is gone afterwards, unless it shall be kept."""
    folder = Path(tempfile.mkdtemp(prefix="leasehold-tour-"))
    try:
        yield folder
    finally:
        if keep:
            echo(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder_of(folder / DATABASE), ignore_errors=True)  # what killed workers listened on


@contextmanager
def _terminable() -> Iterator[None]:
    """Have SIGTERM end the tour as Ctrl-C does: with everything put away."""

    def leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        raise SystemExit(Exit.TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_log(folder: Path) -> None:
    log = folder / "workers.log"
    if log.exists():
        echo("\nThe last lines of the workers' log:", error=True)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]:
            echo(f"  {safe(line)}", error=True)
