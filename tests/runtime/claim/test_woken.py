"""Who is woken: one or two workers by one job, and another one where the first has no room for what there is."""

import re
import threading
from contextlib import closing

import pytest

from leasehold.store import open_store
from leasehold.store.db.wake import profile_of
from tests.support.db import rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

WORKERS = 24
SUBMITS = 20
CLAIM = re.compile(r"-- claim: ")


def test_one_job_wakes_one_or_two_of_24_idle_workers_on_postgresql(outpost):
    outpost.server.stop()
    outpost.server.settings["log_statement"] = "all"
    outpost.server.start()
    start_all(outpost.workers)
    check_claims(outpost.app, lambda: len(CLAIM.findall(outpost.server.log)))


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_one_job_wakes_one_or_two_of_24_idle_workers_on_sqlite(app, workers, tmp_path):
    claims = tmp_path / "claims"
    start_all(workers, {"WORKSHOP_CLAIMS": str(claims)})
    check_claims(app, lambda: len(claims.read_text().splitlines()))


def start_all(workers, environment=None):
    for _ in range(WORKERS):
        workers.run("tests.support.processes.start", "{}", environment=environment)
    until(lambda: all(worker.has_logged("worker_started") for worker in workers.started), timeout=180)


def check_claims(app, count):
    """On average, since a worker may poll in the moment between a submit and its claim."""
    until(lambda: count() >= WORKERS)  # each has looked once
    before = count()
    for number in range(SUBMITS):
        assert app.submit("quick", {"number": number}).wait(timeout=60).status == "DONE"
    assert SUBMITS <= count() - before <= 3 * SUBMITS


@pytest.fixture
def hold(app):
    """A kind whose handler waits, whether it runs, and how to let it go on."""
    inside, over = threading.Event(), threading.Event()

    @app.job
    def hold():
        inside.set()
        over.wait(60)

    return hold, inside, over


def test_a_worker_that_is_woken_without_room_wakes_another(app, url, hold):
    kind, inside, over = hold
    with closing(open_store(url)) as store, run_worker(url, kind, concurrency=1):
        kind.submit()
        assert inside.wait(60)
        with closing(store.listener(profile_of(["default"], ["hold"]))) as other:
            other.wait(0.01)
            store.wake(["default"], sender=other.address)
            until(lambda: "default" in other.wait(1))
        over.set()


def test_a_worker_that_finds_more_than_it_has_room_for_wakes_another(app, url, hold):
    kind, inside, over = hold
    app.submit_many(kind, [{}] * 2)
    with closing(open_store(url)) as store, closing(store.listener(profile_of(["default"], ["hold"]))) as other:
        other.wait(0.01)
        with run_worker(url, kind, concurrency=1):
            assert inside.wait(60)
            until(lambda: "default" in other.wait(1))
            over.set()
            until(lambda: rows(url, "SELECT count(*) FROM outcome") == [(2,)])


def test_many_jobs_reach_every_worker(app, workers):
    """Each has room for one, so that all of them must be found."""
    for _ in range(6):
        workers.start(concurrency=1, queues=["hold"])
    jobs = app.submit_many("hold", [{"name": "a"}] * 6)
    until(lambda: len({pid for _, _, _, pid in workers.journal("start")}) == 6)
    workers.open("a")
    assert {job.wait(timeout=60).status for job in jobs} == {"DONE"}
