"""How a worker leaves: it stops claiming, gives back what it has not begun, finishes the rest, and logs that."""

import signal
import subprocess
import sys

import pytest

from leasehold.testing import Clock
from tests.support.db import check_places, connected, names, rows
from tests.support.processes.local_worker import plan_of
from tests.support.processes.signalled import STEPS
from tests.support.wait import until


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_asked_to_stop_finishes_what_runs_and_claims_no_more(app, workers, url, number):
    worker = workers.start(concurrency=1)
    running, waiting = app.submit("hold", {"name": "a"}), app.submit("hold", {"name": "b"})
    until(lambda: workers.journal("start"))
    worker.signal(number)
    until(lambda: worker.has_logged("worker_stopping"))
    workers.open("a")
    assert worker.end() == 0
    assert (running.status, waiting.status) == ("DONE", "READY")
    assert names(url, waiting.id) == ["submitted"]
    assert rows(url, "SELECT count(*) FROM worker WHERE ended_at IS NULL") == [(0,)]


def test_what_was_claimed_and_not_begun_is_released_without_spending_an_attempt(app, workers, url):
    """S12 counts attempts at the claim; a release takes that back."""
    worker = workers.start(concurrency=5)
    jobs = app.submit_many("block", [{"name": "a"}] * 5)
    until(lambda: workers.journal("start"))
    until(lambda: rows(url, "SELECT count(*) FROM lease") == [(5,)])
    worker.signal(signal.SIGTERM)
    until(lambda: worker.has_logged("worker_stopping"))
    assert rows(url, "SELECT attempt, fence FROM ready") == [(0, 1)] * 4
    workers.open("a")
    assert worker.end() == 0
    assert len(workers.journal("start")) == 1
    assert sorted(job.status for job in jobs) == ["DONE", *["READY"] * 4]
    workers.start()
    outputs = [job.wait(timeout=60).output for job in jobs]
    assert outputs == [{"attempt": 1}] * 5
    check_places(url)


def test_what_the_grace_is_too_short_for_is_left_to_others_at_once(app, workers, url):
    worker = workers.start(grace=0)
    job = app.submit("stubborn", {"name": "a"})
    until(lambda: workers.journal("start"))
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0
    assert "lease_lost" in worker.log
    assert job.status == "RUNNING"
    workers.open("a-2")
    workers.start()
    assert job.wait(timeout=60).output["attempt"] == 2
    [(why,)] = rows(url, "SELECT detail FROM event WHERE name = 'reclaimed'")
    assert "owner gone" in why


def test_a_second_signal_leaves_at_once_and_the_lease_is_taken_back(app, workers, url):
    worker = workers.start(grace=3600)
    job = app.submit("hold", {"name": "a"})
    until(lambda: workers.journal("start"))
    worker.signal(signal.SIGTERM)
    until(lambda: worker.has_logged("worker_stopping"))
    worker.signal(signal.SIGTERM)
    assert worker.end() != 0
    assert job.status == "RUNNING"
    workers.open("a")
    workers.start()
    assert job.wait(timeout=60).output["attempt"] == 2
    check_places(url)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_worker_whose_file_is_locked_still_leaves_soon(workers, app, url):
    """Nothing can be released or signed off then; the leases are left to be taken back."""
    worker = workers.start(shutdown_seconds=1)
    job = app.submit("hold", {"name": "a"})
    until(lambda: workers.journal("start"))
    with connected(url) as connection:
        connection.execute("BEGIN IMMEDIATE")
        worker.signal(signal.SIGTERM)
        until(lambda: worker.has_logged("worker_stopping"))
        workers.open("a")
        until(lambda: not worker.running, timeout=120)
        connection.execute("ROLLBACK")
    workers.start()
    assert job.wait(timeout=60).status == "DONE"


def test_a_worker_whose_server_is_away_still_leaves_soon(outpost):
    worker = outpost.workers.start(shutdown_seconds=1)
    job = outpost.app.submit("hold", {"name": "a"})
    until(lambda: outpost.workers.journal("start"))
    outpost.server.stop("immediate")
    worker.signal(signal.SIGTERM)
    until(lambda: worker.has_logged("worker_stopping"))
    outpost.workers.open("a")
    until(lambda: not worker.running, timeout=120)
    outpost.server.start()
    outpost.workers.start()
    assert job.wait(timeout=60).status == "DONE"


def test_a_worker_with_default_settings_leaves_a_database_that_is_away_within_ten_seconds(app):
    assert plan_of(app.job(lambda: None, name="idle")).shutdown_seconds <= 10


def test_an_expired_lease_of_a_worker_that_left_is_not_waited_for_by_a_stopped_clock(app, workers, url):
    """Releasing is not a matter of time: it happens while the clock stands still."""
    Clock(app)
    worker = workers.start()
    job = app.submit("hold", {"name": "a"})
    until(lambda: workers.journal("start"))
    worker.kill()
    workers.open("a")
    workers.start()
    assert job.wait(timeout=60).output["attempt"] == 2


def test_a_signal_is_noticed_at_whatever_step_of_the_waiting_it_comes():
    """An event that is set by a signal while its own lock is held waits for itself for ever, as in a worker once."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.processes.signalled"],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout == f"signalled {len(STEPS)} times\n"
