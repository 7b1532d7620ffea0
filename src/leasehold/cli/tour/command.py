"""`leasehold tour`: the promise, shown on this machine in a few seconds."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from operator import itemgetter
from pathlib import Path

import click

from leasehold.cli.options import ExitCode, command, given_url
from leasehold.cli.table import Column, echo, print_lines, print_table
from leasehold.cli.text import count, printable
from leasehold.cli.tour.evidence import StartLog, TourResult
from leasehold.cli.tour.jobs import make_app
from leasehold.cli.tour.run import CONCURRENCY, TourPlan, TourRun, open_screen
from leasehold.processes import WorkerProcesses, WorkerSpec, stop_on_signals, worker_arguments
from leasehold.redact.database_url import masked
from leasehold.store.db.sqlite_wake import folder_of

DATABASE = "tour.db"
LOG = "workers.log"
SIGNALLED = 128
HANDLERS = "handlers.journal"
KILLS = 5
JOBS_PER_KILL = 20
LOG_LINES = 40
LISTED_MAX = 10
COLUMNS = (
    Column("", itemgetter(0)),
    Column("DATABASE", itemgetter(1), right=True),
    Column("HANDLERS", itemgetter(2), right=True),
)


@command(
    "leasehold tour",
    "leasehold tour --jobs 10000 --kills 20 --url postgresql://localhost/test",
    url="Default: a new SQLite file; LEASEHOLD_URL is not used. Others can read a command line.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 1_000_000), default=2_000, show_default=True, help="Number of small jobs."
)
@click.option(
    "--kills", type=click.IntRange(0, 1_000), help="Minimum number of kills.  [default: 5, fewer for few jobs]"
)
@click.option("--workers", type=click.IntRange(1, 64), default=3, show_default=True, help="Worker processes.")
@click.option("--keep", is_flag=True, help="Keep the folder with the SQLite file, the journal and the workers' log.")
def tour(*, jobs: int, kills: int | None, workers: int, keep: bool) -> None:
    """See Leasehold survive kill -9.

    The tour submits small jobs and one film in three stages (script, 20 sounds, render) to a new SQLite file and starts
    worker processes. About once a second it kills a worker with SIGKILL in the middle of its work, and starts another.

    The table at the end is computed from the database and from a journal that the handlers write themselves. The exit
    code is 1 if a job was lost, a task was settled twice, the two sources disagree, or too few kills hit work. With
    --url the jobs stay in that database; without it, everything is removed (see --keep).
    """
    if kills is None:
        kills = min(KILLS, jobs // JOBS_PER_KILL)
    if kills * JOBS_PER_KILL > jobs:
        raise click.UsageError(f"{kills} kills need at least {kills * JOBS_PER_KILL} jobs.")
    folder = Path(tempfile.mkdtemp(prefix="leasehold-tour-"))
    try:
        result = _run(folder, TourPlan(jobs, kills, workers))
        print_result(result)
        if not result.holds and (log := folder / LOG).exists():
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
            print_lines(
                ("\nThe last lines of the workers' log:", *(f"  {printable(line)}" for line in lines)), error=True
            )
    finally:
        if keep:
            echo(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder_of(folder / DATABASE), ignore_errors=True)  # left by workers that were killed
    if not result.holds:
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def worker_spec(folder: Path, url: str, run: str) -> WorkerSpec:
    environment = {"LEASEHOLD_URL": url, "LEASEHOLD_TOUR_RUN": run, "LEASEHOLD_TOUR_LOG": str(folder / HANDLERS)}
    return WorkerSpec(worker_arguments("leasehold.cli.tour.jobs:app", CONCURRENCY), environment, folder / LOG)


def _run(folder: Path, plan: TourPlan) -> TourResult:
    run, log = secrets.token_hex(4), folder / HANDLERS
    url = given_url() or f"sqlite:///{folder}/{DATABASE}"
    echo(f"{plan.jobs:,} jobs and a film, {plan.workers} workers, on {printable(masked(url))}")
    with (
        closing(make_app(run, str(log), url)) as app,
        stop_on_signals() as stop,
        WorkerProcesses(worker_spec(folder, url, run), plan.workers, stop) as workers,
        open_screen() as screen,
    ):
        tour_run = TourRun(app, run, workers, StartLog(log), plan, screen)
        tour_run.run()
        if stop.number is not None:
            workers.stop_all(seconds=0)
            if given_url():
                tour_run.cancel()
            raise SystemExit(SIGNALLED + stop.number)
        return tour_run.result()


def print_result(result: TourResult) -> None:
    """Print the table and what it means; every number is counted."""
    rows = (
        ("submitted", f"{result.submitted:,}", ""),
        ("done", f"{result.done:,}", f"{result.seen:,}"),
        ("lost", len(result.lost), ""),
        ("settled twice", len(result.settled_twice), ""),
        ("workers killed at work", "", result.kills),
        ("attempts repeated because of kills", result.repeated, result.repeated_begun),
        ("time", f"{result.seconds:.1f} s", ""),
    )
    echo()
    print_table(COLUMNS, rows)
    print_lines(("", *_sentences(result)))


def _sentences(result: TourResult) -> Iterator[str]:
    not_begun = result.repeated - result.repeated_begun
    if not_begun > 0 and not result.contradictions:
        yield f"{count(not_begun, 'attempt')} had been claimed, but not begun, when the worker was killed."
    if result.lost:
        yield f"LOST: jobs {_first(result.lost)}"
    if result.settled_twice:
        yield f"SETTLED TWICE: tasks {_first(result.settled_twice)}"
    yield from (f"CONTRADICTION: {sentence}" for sentence in result.contradictions[:LISTED_MAX])
    if result.kills < result.kills_wanted:
        yield f"TOO FEW KILLS: {result.kills} of {result.kills_wanted} hit work; use more --jobs"
    if result.holds:
        yield "Nothing was lost and nothing was settled twice; both sources agree."


def _first(ids: list[int]) -> str:
    more = f" and {len(ids) - LISTED_MAX} more" if len(ids) > LISTED_MAX else ""
    return ", ".join(map(str, ids[:LISTED_MAX])) + more
