"""A worker with nothing to do, or with its database away, does next to nothing; and it comes back by itself."""

import re
import time

import pytest

from tests.support.db import connected, rows
from tests.support.wait import until

STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (?!BEGIN|COMMIT|SET|LISTEN)")
SECONDS = 6.0


def spent(worker):
    times = worker.system.cpu_times()
    return times.user + times.system


def observe(worker, seconds=SECONDS):
    """Return the share of a core a process used over some seconds, and how long was looked at."""
    began, used = time.monotonic(), spent(worker)
    until(lambda: time.monotonic() - began >= seconds)
    took = time.monotonic() - began
    return (spent(worker) - used) / took, took


def check_idle(worker, count):
    before = count()
    share, took = observe(worker)
    assert (count() - before) / took <= 2
    assert count() > before
    assert share < 0.05


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_an_idle_worker_on_sqlite_asks_at_most_twice_a_second(app, workers, tmp_path):
    trace = tmp_path / "trace"
    worker = workers.start(environment={"WORKSHOP_TRACE": str(trace)})
    app.submit("quick", {"number": 1}).wait(timeout=60)
    until(trace.exists)
    settle_down(lambda: len(trace.read_text().splitlines()))
    check_idle(worker, lambda: len(trace.read_text().splitlines()))


def test_an_idle_worker_on_postgresql_asks_at_most_twice_a_second(outpost):
    outpost.server.stop()
    outpost.server.settings["log_statement"] = "all"
    outpost.server.start()
    worker = outpost.workers.start()
    outpost.app.submit("quick", {"number": 1}).wait(timeout=60)
    settle_down(lambda: len(STATEMENT.findall(outpost.server.log)))
    check_idle(worker, lambda: len(STATEMENT.findall(outpost.server.log)))


def settle_down(count):
    """Wait until what the last job caused is over: a second with at most two statements."""

    def is_quiet():
        began, before = time.monotonic(), count()
        until(lambda: time.monotonic() - began >= 1)
        return count() - before <= 2

    until(is_quiet)


def test_l4_l2_a_worker_whose_server_is_away_uses_next_to_no_cpu_and_comes_back(outpost):
    worker = outpost.workers.start()
    outpost.app.submit("quick", {"number": 1}).wait(timeout=60)
    outpost.server.stop("immediate")
    share, _ = observe(worker)
    assert share < 0.2
    outpost.server.start()
    job = outpost.app.submit("quick", {"number": 2})
    assert job.wait(timeout=60).status == "DONE"
    assert worker.running


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_l4_a_worker_whose_file_is_locked_uses_next_to_no_cpu_and_comes_back(app, workers, url):
    worker = workers.start(concurrency=4)
    app.submit("quick", {"number": 1}).wait(timeout=60)
    jobs = app.submit_many("hold", [{"name": "a"}] * 8)
    until(lambda: len(workers.journal("start")) == 4)
    with connected(url) as connection:
        connection.execute("BEGIN IMMEDIATE")
        workers.open("a")
        until(lambda: len(workers.journal("end")) == 4)
        share, _ = observe(worker)
        connection.execute("ROLLBACK")
    assert share < 0.2
    assert {job.wait(timeout=60).status for job in jobs} == {"DONE"}
    assert rows(url, "SELECT count(*) FROM lease") == [(0,)]


def test_one_line_reports_that_the_database_is_away_and_one_that_it_is_back(outpost):
    """However many parts of the worker have noticed."""
    worker = outpost.workers.start(environment={"WORKSHOP_LEASE": "600"})
    held = outpost.app.submit("hold", {"name": "a"})
    until(lambda: outpost.workers.journal("start"))
    outpost.server.stop("immediate")
    until(lambda: worker.has_logged("database_away"))
    outpost.server.start()
    until(lambda: worker.has_logged("database_back"))
    outpost.workers.open("a")
    assert held.wait(timeout=60).status == "DONE"
    found = re.findall(r"database_\w+|component_failed", worker.log)
    assert found == ["database_away", "database_back"], worker.log
