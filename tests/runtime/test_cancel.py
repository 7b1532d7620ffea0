"""Cancelling what runs: the handler is notified within seconds, and whatever it returns, the task ends CANCELLED."""

import threading

from leasehold import Cancelled
from tests.support.db import check_journal, check_places, names, rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until


def test_a_running_handler_in_another_process_sees_the_cancel_and_ends_cancelled(app, workers, url):
    """Within seconds, not at the next renewal of a ten-minute lease."""
    workers.start(environment={"WORKSHOP_LEASE": "600"})
    job = app.submit("hold", {"name": "a"})
    until(lambda: workers.journal("start"))
    app.cancel(job, reason="not needed any more")
    assert job.wait(timeout=60).status == "CANCELLED"
    assert workers.journal("cancelled")
    failure = dict(job.failure)
    context = failure.pop("context")
    assert failure == {"error_class": "CANCELLED", "message": "not needed any more", "retryable": False}
    assert (len(context["cancel_request"]), context["cancelled_job"]) == (16, f"hold {job.key}")
    assert names(url, job.id) == ["submitted", "claimed", "asked", "cancelled"]
    check_places(url)
    check_journal(url)


def test_a_handler_that_does_not_look_ends_cancelled_all_the_same(app, url):
    """S10: the end names the cancel, though the handler returned as if nothing had happened."""
    started, gate = threading.Event(), threading.Event()

    @app.job
    async def deaf():
        started.set()
        gate.wait(60)
        return "done all the same"

    @app.job
    def failing():
        started.set()
        gate.wait(60)
        raise RuntimeError("too late to matter")

    for kind in (deaf, failing):
        started.clear()
        gate.clear()
        job = kind.submit()
        with run_worker(url, kind):
            assert started.wait(60)
            job.cancel("stop")
            gate.set()
            job.wait(timeout=60)
        assert (job.status, job.failure["message"]) == ("CANCELLED", "stop")
        assert names(url, job.id) == ["submitted", "claimed", "asked", "cancelled"]


def test_a_task_once_cancelled_stays_cancelled(app, url):
    started, seen, gate = threading.Event(), [], threading.Event()

    @app.job(lease=0.5)
    def watch(task):
        started.set()
        until(lambda: task.cancelled)
        while not gate.wait(0.01):
            seen.append(task.cancelled)
        raise Cancelled

    job = watch.submit()
    with run_worker(url, watch):
        assert started.wait(60)
        job.cancel()
        until(lambda: len(seen) > 100)
        gate.set()
        job.wait(timeout=60)
    assert set(seen) == {True}
    assert job.status == "CANCELLED"


def test_a_cancelled_task_whose_worker_died_is_not_run_again(app, workers, url):
    workers.start()
    job = app.submit("stubborn", {"name": "a"})
    until(lambda: workers.journal("start"))
    app.cancel(job, reason="stop")
    workers.started[0].kill()
    workers.start()
    assert job.wait(timeout=60).status == "CANCELLED"
    assert len(workers.journal("start")) == 1
    assert rows(url, "SELECT count(*) FROM ready") == [(0,)]


def test_progress_is_seen_while_a_task_runs_and_the_latest_report_counts(app, url):
    gate = threading.Event()

    @app.job
    def steps(task):
        for number in range(100):
            task.progress(number, total=100, message=f"step {number}")
        gate.wait(60)

    job = steps.submit()
    with run_worker(url, steps):
        until(lambda: '"done":99' in (app.store.reports.tasks(job.id)[0].progress or ""))
        gate.set()
        job.wait(timeout=60)
    assert job.status == "DONE"
