"""Time-outs: an attempt that takes longer than its kind allows ends as TIMEOUT, even if its thread hangs."""

import asyncio
import logging
import threading
import time
from contextlib import contextmanager
from functools import partial

import psutil
import pytest

from leasehold import Cancelled, Retry, TimedOut, Verdict, clock
from leasehold.errors import LeaseholdError, OptionInvalid
from leasehold.runtime.limits import STOP_GRACE_SECONDS
from leasehold.runtime.replay.replayer import replay
from tests.support.db import check_journal, check_places, names, rows
from tests.support.processes.local_worker import run_worker
from tests.support.uptime import simulated_uptime
from tests.support.wait import until

TWICE = Retry(attempts=2, delay_initial=0)
RETRIED = ["submitted", "claimed", "retried", "advanced", "claimed"]


@contextmanager
def later():
    """Yield a way to let the time of a handler pass at once, or the grace after its interruption."""
    ahead, offset = [0], clock.uptime() - time.monotonic_ns() // 1_000

    def jump():
        ahead[0] += clock.microseconds(STOP_GRACE_SECONDS + 1)

    with simulated_uptime(lambda: time.monotonic_ns() // 1_000 + offset + ahead[0]):
        yield jump


def is_running(running, count):
    return len(running) == count


def is_stopped(running):
    return running[-1].cancelled


def has_lines(caplog, event, count):
    return caplog.text.count(event) >= count


def check_timed_out(job, url):
    assert (job.status, job.failure["error_class"]) == ("ERROR", "TIMEOUT")
    assert "TimedOut" in job.failure["message"]
    assert job.failure["context"] == {"ended_by": "timeout"}
    assert names(url, job.id) == [*RETRIED, "failed"]
    details = rows(url, "SELECT detail FROM event WHERE name IN ('retried', 'failed') ORDER BY id")
    assert all("TIMEOUT" in detail for (detail,) in details)
    check_places(url)
    check_journal(url)


def test_an_async_handler_is_cancelled_at_its_time_out_and_tried_again(app, url):
    stopped = []

    @app.job(timeout=0.05, retry=TWICE)
    async def asleep(task):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(task.attempt)

    job = asleep.submit()
    with run_worker(url, asleep):
        job.wait(timeout=60)
    assert stopped == [1, 2]
    assert "The timeout is 0.05 s." in job.failure["message"]
    assert "await asyncio.Event().wait()" in job.failure["stack"]
    check_timed_out(job, url)


def test_a_thread_meets_its_time_out_at_the_next_act(app, url):
    done = []

    @app.job(timeout=0.05, retry=TWICE)
    def waits(task):
        until(lambda: task.cancelled)
        task.effect("SEND", lambda: done.append("sent"))

    job = waits.submit()
    with run_worker(url, waits):
        job.wait(timeout=60)
    assert done == []
    check_timed_out(job, url)


def test_an_isolated_process_ends_at_its_time_out(app, workers, url):
    workers.start()
    job = app.submit("apart_late").wait(timeout=60)
    pids = [int(line[-1]) for line in workers.journal("start", "apart_late")]
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    check_timed_out(job, url)


def test_a_kind_decides_whether_a_time_out_is_retried(app, url):
    @app.job(timeout=0.05, failures={TimedOut: Verdict("SLOW", retryable=False)})
    async def once():
        await asyncio.Event().wait()

    job = once.submit()
    with run_worker(url, once):
        job.wait(timeout=60)
    assert job.failure["error_class"] == "SLOW"
    assert names(url, job.id) == ["submitted", "claimed", "failed"]


def test_what_a_handler_returns_after_its_time_is_too_late(app, url):
    @app.job(timeout=0.05, retry=TWICE)
    def late(task):
        until(lambda: task.cancelled)
        return "too late"

    job = late.submit()
    with run_worker(url, late):
        job.wait(timeout=60)
    check_timed_out(job, url)


def test_a_stage_has_a_time_out_of_its_own(app, url):
    film = app.pipeline("film")

    @film.stage
    def script():
        return {}

    @film.stage(after=script, timeout=0.05, retry=Retry(attempts=1))
    async def render():
        await asyncio.Event().wait()

    job = film.submit()
    with run_worker(url, film):
        assert job.wait(timeout=60).status == "ERROR"
    [letter] = app.deadletters.list()
    assert (letter.stage, letter.error_class) == ("render", "TIMEOUT")


def test_s2_a_thread_that_hangs_is_abandoned_and_changes_nothing_when_it_wakes(app, url, caplog):
    """Its task is tried again by a worker with one place, while the first thread still hangs."""
    caplog.set_level(logging.INFO, logger="leasehold")
    running, wakes, sent = [], threading.Event(), []

    @app.job(timeout=5, lease=600, retry=TWICE)
    def hang(task):
        if task.attempt == 2:
            return "by the second attempt"
        running.append(task)
        wakes.wait(60)
        with pytest.raises(Cancelled):
            task.effect("SEND", lambda: sent.append("sent"))
        return "by the first"

    job = hang.submit()
    with later() as jump, run_worker(url, hang, concurrency=1) as worker:
        until(lambda: running)
        jump()
        until(lambda: running[0].cancelled)
        jump()
        assert job.wait(timeout=60).output == "by the second attempt"
        until(lambda: not worker.busy)
        wakes.set()
        until(lambda: "abandoned_returned" in caplog.text)
    assert sent == []
    assert names(url, job.id) == [*RETRIED, "done"]
    assert "attempt_abandoned" in caplog.text
    assert "place=free" in caplog.text
    check_places(url)
    check_journal(url)


def test_s2_the_result_of_an_act_that_outlives_its_attempt_is_refused(app, url):
    running, wakes, refused = [], threading.Event(), []

    @app.job(timeout=5, lease=600, retry=Retry(attempts=1))
    def hang(task):
        def act():
            running.append(task)
            wakes.wait(60)
            return "sent"

        try:
            task.effect("SEND", act)
        except LeaseholdError as error:
            refused.append(error.code)
            raise

    job = hang.submit()
    with later() as jump, run_worker(url, hang):
        until(lambda: running)
        jump()
        until(lambda: running[0].cancelled)
        jump()
        assert job.wait(timeout=60).failure["error_class"] == "TIMEOUT"
        wakes.set()
        until(lambda: refused)
    assert refused == ["LEASE_LOST"]
    assert rows(url, "SELECT result, failure FROM effect") == [(None, None)]


def test_threads_that_hang_get_no_more_places_than_the_worker_has(app, url, caplog):
    caplog.set_level(logging.INFO, logger="leasehold")
    wakes, running = threading.Event(), []

    @app.job(timeout=5, lease=600, retry=Retry(attempts=1))
    def hang(task, number):
        running.append(task)
        wakes.wait(60)

    jobs = app.submit_many(hang, [{"number": number} for number in range(3)])
    with later() as jump, run_worker(url, hang, concurrency=1) as worker:
        for count in (1, 2):
            until(partial(is_running, running, count))
            jump()
            until(partial(is_stopped, running))
            jump()
            until(partial(has_lines, caplog, "attempt_abandoned", count))
        until(lambda: [job.status for job in jobs] == ["ERROR", "ERROR", "READY"])
        assert worker.busy == 1
        wakes.set()
        until(lambda: all(job.status.settled for job in jobs))
        until(partial(has_lines, caplog, "abandoned_returned", 2))
    assert "place=occupied" in caplog.text


def test_a_job_that_timed_out_replays(app, url, tmp_path):
    @app.job(timeout=0.05, retry=TWICE)
    async def asleep(task):
        await task.effect("SEND", lambda: task.attempt)
        await asyncio.Event().wait()

    job = asleep.submit()
    with run_worker(url, asleep):
        job.wait(timeout=60)
    path = tmp_path / "record.ndjson"
    with path.open("wb") as file:
        app.journal.export(job.id, file)
    found = replay(path, {"asleep": asleep.handler})
    assert (found.equal, found.journal_only) == (True, 1)


@pytest.mark.parametrize("timeout", [0, -1, "60", True, float("nan"), 1e12])
def test_a_time_out_is_a_number_of_seconds(app, timeout):
    with pytest.raises(OptionInvalid, match="timeout"):
        app.job(timeout=timeout)
