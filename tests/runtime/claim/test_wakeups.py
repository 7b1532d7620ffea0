"""Wake-ups are hints: they make work start at once, they may all be lost, and they heal by themselves."""

import signal
import statistics
import time

import psutil
import pytest

from leasehold.store.db.sqlite_wake import folder_of
from tests.support.databases.postgres import database_name
from tests.support.db import connected, rows
from tests.support.wait import until

LISTENERS = (
    "SELECT pid FROM pg_stat_activity "
    "WHERE application_name LIKE 'leasehold-%' AND datname = '{}' AND pid <> pg_backend_pid()"
)


def latency(app, count=9):
    """Return the median time from submit to end on an idle worker, in seconds."""
    found = []
    for number in range(count):
        started = time.monotonic()
        app.submit("quick", {"number": number}).wait(timeout=60)
        found.append(time.monotonic() - started)
    return statistics.median(found)


def test_an_idle_worker_in_another_process_is_woken_long_before_its_next_poll(app, workers):
    workers.start()
    assert until(lambda: latency(app) < 0.4)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_l2_a_listen_connection_that_is_killed_alone_comes_back_and_work_starts_meanwhile(app, workers, url):
    worker = workers.start()
    app.submit("quick", {"number": -1}).wait(timeout=60)
    listeners = LISTENERS.format(database_name(url))
    [(before,)] = until(lambda: rows(url, listeners))
    with connected(url) as connection:
        connection.execute(f"SELECT pg_terminate_backend({before})")
    jobs = [app.submit("quick", {"number": number}) for number in range(5)]
    assert [job.wait(timeout=60).status for job in jobs] == ["DONE"] * 5
    [(after,)] = until(lambda: rows(url, listeners), timeout=15)
    assert after != before
    assert until(lambda: latency(app) < 0.4)
    assert worker.running


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_worker_whose_wake_up_socket_is_taken_away_finds_work_by_polling(app, workers, url):
    workers.start()
    folder = folder_of(app.store.database.dialect.path)
    until(lambda: folder.is_dir() and list(folder.iterdir()))
    for place in folder.iterdir():
        place.unlink()
    assert app.submit("quick", {"number": 1}).wait(timeout=60).status == "DONE"


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_socket_of_a_killed_worker_is_cleared_away_by_the_next_hint(app, workers, url):
    worker = workers.start()
    folder = folder_of(app.store.database.dialect.path)
    assert until(lambda: folder.is_dir() and len(list(folder.iterdir()))) == 1
    worker.kill()
    app.submit("quick", {"number": 1})
    until(lambda: list(folder.iterdir()) == [])
    assert not psutil.pid_exists(worker.pid)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_worker_that_leaves_takes_its_socket_with_it(app, workers, url):
    worker = workers.start()
    folder = folder_of(app.store.database.dialect.path)
    until(lambda: folder.is_dir() and list(folder.iterdir()))
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_process_that_only_orchestrates_moves_pipelines_and_due_work(app, workers, url):
    """Jobs become ready with nobody at work who could run them."""
    worker = workers.start()
    worker.kill()
    first = app.submit("film", {"scenes": 1}, delay=0.2)
    second = app.submit("quick", {"number": 1}, delay=0.2)
    alone = workers.orchestrate()
    until(lambda: rows(url, "SELECT count(*) FROM ready") == [(2,)])
    assert (first.status, second.status) == ("NEW", "READY")
    alone.signal(signal.SIGTERM)
    assert alone.end() == 0
