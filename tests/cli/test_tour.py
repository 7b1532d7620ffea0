"""The tour, with real processes and real kills; and what is left behind when it is stopped: nothing."""

import re
import signal
import tempfile
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from leasehold import Leasehold
from leasehold.cli.options import ExitCode
from leasehold.cli.tour.command import HANDLERS, LOG, worker_spec
from leasehold.cli.tour.evidence import StartLog
from leasehold.cli.tour.jobs import make_app
from leasehold.cli.tour.run import Screen, TourPlan, TourRun
from leasehold.processes import WorkerProcesses
from tests.support.wait import until


@pytest.fixture
def folder(processes, tmp_path) -> Path:
    """Where the tour makes its temporary folder."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    processes.environment["TMPDIR"] = str(folder)
    assert tempfile.gettempdir() != str(folder)
    return folder


def row(table: str, name: str) -> list[int]:
    (line,) = (line for line in table.splitlines() if line.startswith(name + "  "))
    return [int(word.replace(",", "")) for word in line.removeprefix(name).split()]


def test_a_tour_loses_nothing_and_settles_nothing_twice_while_workers_are_killed(processes, url, folder):
    """S3, S5, S12: on both databases."""
    result = processes.run("tour", "--jobs", 200, "--kills", 2, "--url", url)
    assert result.returncode == 0, result.stdout + result.stderr
    assert row(result.stdout, "submitted") == [201]
    assert row(result.stdout, "done") == [201, 201]
    assert row(result.stdout, "lost") == [0]
    assert row(result.stdout, "settled twice") == [0]
    (kills,) = row(result.stdout, "workers killed at work")
    repeated, begun = row(result.stdout, "attempts repeated because of kills")
    assert 2 <= kills <= repeated
    assert 0 < begun <= repeated
    assert list(folder.glob("leasehold-tour-*")) == []


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_tour_by_itself_uses_a_file_of_its_own_and_keeps_it_only_when_asked(processes, folder):
    assert processes.run("tour", "--jobs", 40, "--kills", 1).returncode == 0
    assert list(folder.iterdir()) == []
    result = processes.run("tour", "--jobs", 20, "--keep")
    assert result.returncode == 0
    (kept,) = folder.iterdir()
    assert {"tour.db", "handlers.journal", "workers.log"} <= {path.name for path in kept.iterdir()}
    assert f"kept: {kept}" in result.stdout


@pytest.mark.parametrize(
    ("dialect", "number", "code"),
    [
        ("sqlite", signal.SIGINT, ExitCode.INTERRUPTED),
        ("postgres", signal.SIGTERM, ExitCode.TERMINATED),
        pytest.param("sqlite", signal.SIGTERM, ExitCode.TERMINATED, marks=pytest.mark.soak),
        pytest.param("postgres", signal.SIGINT, ExitCode.INTERRUPTED, marks=pytest.mark.soak),
    ],
)
def test_a_tour_that_is_stopped_leaves_no_process_no_folder_and_no_work(processes, url, folder, number, code):
    tour = processes.start("tour", "--jobs", 4000, "--kills", 100, "--url", url)
    workers = busy_workers(tour)
    tour.signal(number)
    assert tour.end() == code
    assert [worker for worker in workers if worker.is_running()] == []
    assert list(folder.glob("leasehold-tour-*")) == []
    app = Leasehold(url)
    assert app.jobs(status="READY", limit=1) == []
    app.close()


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_workers_of_a_tour_that_was_killed_end_by_themselves(processes, folder):
    tour = processes.start("tour", "--jobs", 4000, "--kills", 100)
    workers = busy_workers(tour)
    tour.kill()
    assert until(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in workers))


def busy_workers(tour) -> list[psutil.Process]:
    """Wait until a worker has been killed and replaced, and return those there are."""
    until(lambda: tour.has_logged("killed worker"))
    workers = tour.system.children()
    assert re.search(r"killed worker \d+ with \d+ of its attempts under way", tour.log)
    return workers


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_more_kills_than_there_is_work_for_are_refused(processes):
    result = processes.run("tour", "--jobs", 10, "--kills", 5)
    assert result.returncode == ExitCode.MISUSE
    assert "5 kills need at least 100 jobs" in result.stderr


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_tour_whose_workers_cannot_work_reports_that_everything_was_lost(url, tmp_path, capsys):
    log = tmp_path / HANDLERS
    app = make_app("x", str(log), url)
    with closing(app), WorkerProcesses(worker_spec(tmp_path, "nowhere:", "x"), 1) as workers:
        plan = TourPlan(jobs=20, kills=1, workers=1)
        run = TourRun(app, "x", workers, StartLog(log), plan, Screen())
        run.run()
        result = run.result()
    assert (len(result.lost), result.holds) == (21, False)
    assert "workers ended without being stopped, with exit codes [2]" in capsys.readouterr().out
    assert "error URL_INVALID: " in (tmp_path / LOG).read_text()
