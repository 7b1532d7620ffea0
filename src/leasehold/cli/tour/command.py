"""`leasehold tour`: the promise, shown on this machine in a few seconds."""

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

from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.options import given_url, help_with_examples, url_option_with_default
from leasehold.cli.table import echo
from leasehold.cli.text import printable
from leasehold.cli.tour.evidence import StartLog, TourResult, judge
from leasehold.cli.tour.jobs import make_tour
from leasehold.cli.tour.run import CONCURRENCY, TourPlan, TourRun
from leasehold.cli.tour.screen import open_screen, print_result
from leasehold.processes import WorkerProcesses, WorkerSpec, worker_arguments
from leasehold.redact.database_url import masked
from leasehold.store.db.sqlite_wake import folder_of

DATABASE = "tour.db"
LOG = "workers.log"
HANDLERS = "handlers.journal"
KILLS = 5
JOBS_PER_KILL = 20
LOG_LINES = 40


@click.command(
    help=help_with_examples(
        "See Leasehold survive kill -9.\n\nThe tour submits small jobs and one film in three stages (script, 20 sounds,"
        " render) to a new SQLite file and starts worker processes. About once a second it kills a worker with SIGKILL"
        " in the middle of its work, and starts another.\n\nThe table at the end is computed from the database and from"
        " a journal that the handlers write themselves. The exit code is 1 if a job was lost, a task was settled twice,"
        " the two sources disagree, or too few kills hit work. With --url the jobs stay in that database; without it,"
        " everything is removed (see --keep).",
        ["leasehold tour", "leasehold tour --jobs 10000 --kills 20 --url postgresql://localhost/test"],
    )
)
@click.option(
    "--jobs", type=click.IntRange(1, 1_000_000), default=2_000, show_default=True, help="Number of small jobs."
)
@click.option(
    "--kills", type=click.IntRange(0, 1_000), help="Minimum number of kills.  [default: 5, fewer for few jobs]"
)
@click.option("--workers", type=click.IntRange(1, 64), default=3, show_default=True, help="Worker processes.")
@click.option("--keep", is_flag=True, help="Keep the folder with the SQLite file, the journal and the workers' log.")
@url_option_with_default("Default: a new SQLite file; LEASEHOLD_URL is not used. Others can read a command line.")
def tour(*, jobs: int, kills: int | None, workers: int, keep: bool) -> None:
    """See Leasehold survive kill -9."""
    if kills is None:
        kills = min(KILLS, jobs // JOBS_PER_KILL)
    if kills * JOBS_PER_KILL > jobs:
        raise click.UsageError(f"{kills} kills need at least {kills * JOBS_PER_KILL} jobs.")
    with _terminable(), _folder(keep=keep) as folder:
        result = _run(folder, TourPlan(jobs, kills, workers))
        print_result(result)
        if not result.holds:
            _print_log(folder)
    if not result.holds:
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def worker_spec(folder: Path, url: str, run: str) -> WorkerSpec:
    """Return how the tour's workers are started."""
    environment = {"LEASEHOLD_URL": url, "LEASEHOLD_TOUR_RUN": run, "LEASEHOLD_TOUR_LOG": str(folder / HANDLERS)}
    return WorkerSpec(worker_arguments("leasehold.cli.tour.jobs:app", CONCURRENCY), environment, folder / LOG)


def _run(folder: Path, plan: TourPlan) -> TourResult:
    run, log = secrets.token_hex(4), folder / HANDLERS
    url = given_url() or f"sqlite:///{folder}/{DATABASE}"
    echo(f"{plan.jobs:,} jobs and a film, {plan.workers} workers, on {printable(masked(url))}")
    tour = make_tour(run, str(log), url)
    with (
        closing(tour.app),
        WorkerProcesses(worker_spec(folder, url, run), plan.workers) as workers,
        open_screen() as screen,
    ):
        tour_run = TourRun(tour, workers, StartLog(log), plan, screen)
        try:
            return judge(tour_run.run())
        except (KeyboardInterrupt, SystemExit):
            workers.stop_all(seconds=0)
            if given_url():
                tour_run.cancel()
            raise


@contextmanager
def _folder(*, keep: bool) -> Iterator[Path]:
    """Make a temporary folder; remove it afterwards unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="leasehold-tour-"))
    try:
        yield folder
    finally:
        if keep:
            echo(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder_of(folder / DATABASE), ignore_errors=True)  # left by workers that were killed


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the tour as Ctrl-C does, with everything cleaned up."""

    def exit_now(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        raise SystemExit(ExitCode.TERMINATED)

    before = signal.signal(signal.SIGTERM, exit_now)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_log(folder: Path) -> None:
    log = folder / LOG
    if log.exists():
        echo("\nThe last lines of the workers' log:", error=True)
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]:
            echo(f"  {printable(line)}", error=True)
