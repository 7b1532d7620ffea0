"""A cancel stops what runs: an async handler where it waits, a thread at its next act, a process with its tree."""

import asyncio
import threading

import psutil
import pytest

from leasehold import Cancelled, clock
from leasehold.runtime.attempt import Attempt, Interruption
from leasehold.runtime.commit.requests import run_blocking
from leasehold.runtime.effects.effects import Point, watch
from tests.support.db import check_journal, check_places, names, rows
from tests.support.manual_leases import claim, enrol
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

ASKED = ["submitted", "claimed", "asked", "cancelled"]


def test_an_async_handler_is_cancelled_where_it_waits(app, url):
    started, stopped = threading.Event(), threading.Event()

    @app.job(lease=600)
    async def asleep():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    job = asleep.submit()
    with run_worker(url, asleep):
        assert started.wait(60)
        job.cancel("enough")
        assert job.wait(timeout=60).status == "CANCELLED"
        assert stopped.is_set()
    assert job.failure["message"] == "enough"
    assert names(url, job.id) == ASKED
    check_places(url)
    check_journal(url)


def test_s10_the_cancel_wins_over_an_async_handler_that_catches_it_and_returns(app, url):
    started, seen = threading.Event(), []

    @app.job
    async def stubborn(task):
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(task.cancelled)
        with pytest.raises(Cancelled):
            await task.effect("SEND", lambda: seen.append("sent"))
        return "done all the same"

    job = stubborn.submit()
    with run_worker(url, stubborn):
        assert started.wait(60)
        job.cancel("stop")
        job.wait(timeout=60)
    assert (job.status, job.failure["message"]) == ("CANCELLED", "stop")
    assert seen == [True]
    assert names(url, job.id) == ASKED


def test_a_loop_of_effects_on_a_thread_ends_before_its_next_act(app, url):
    """The act that runs when the cancel comes is finished, and its result recorded."""
    acting, done = threading.Event(), []

    @app.job
    def loop(task):
        def act(number):
            if number == 3:
                acting.set()
                until(lambda: task.cancelled)
            done.append(number)

        for number in range(60):
            task.effect("SEND", lambda number=number: act(number), number=number)

    job = loop.submit()
    with run_worker(url, loop):
        assert acting.wait(60)
        job.cancel()
        assert job.wait(timeout=60).status == "CANCELLED"
    assert done == [0, 1, 2, 3]
    assert rows(url, "SELECT count(*) FROM effect WHERE result IS NOT NULL") == [(4,)]
    assert rows(url, "SELECT count(*) FROM effect") == [(4,)]
    check_journal(url)


@pytest.mark.parametrize("verb", ["effect", "transaction", "advance", "progress", "spend", "submit"])
def test_nothing_more_is_begun_after_a_cancel(app, url, verb):
    started, refused = threading.Event(), []
    machine = app.machine("way", {"a": "b"}, initial="a")
    acts = {
        "effect": lambda task: task.effect("SEND", lambda: refused.append("sent")),
        "transaction": lambda task: task.transaction("SAVE", lambda _: refused.append("saved")),
        "advance": lambda task: task.advance("b"),
        "progress": lambda task: task.progress(1),
        "spend": lambda task: task.spend("tokens", 1),
        "submit": lambda task: task.submit("go_on", key="below"),
    }

    @app.job(machine=machine)
    def go_on(task):
        started.set()
        until(lambda: task.cancelled)
        try:
            acts[verb](task)
        except Cancelled:
            refused.append(verb)
            raise

    job = go_on.submit()
    with run_worker(url, go_on):
        assert started.wait(60)
        job.cancel()
        assert job.wait(timeout=60).status == "CANCELLED"
    assert refused == [verb]
    assert job.state == "a"
    assert rows(url, "SELECT count(*) FROM effect") == [(0,)]


def test_a_cancel_that_comes_while_the_intent_is_committed_keeps_the_act_from_beginning(app, url):
    running, done = [], []

    @app.job
    def send(task):
        running.append(task)
        task.effect("SEND", lambda: done.append("sent"))

    def cancel(point, intent):
        if point is Point.AFTER_INTENT:
            job.cancel()
            until(lambda: running[0].cancelled)

    job = send.submit()
    unwatch = watch(cancel)
    try:
        with run_worker(url, send):
            assert job.wait(timeout=60).status == "CANCELLED"
    finally:
        unwatch()
    assert done == []
    [(failure,)] = rows(url, "SELECT failure FROM effect")
    assert "CUT_OFF" in failure
    check_journal(url)


def test_an_attempt_that_was_cancelled_before_it_started_is_not_begun(app):
    begun, ends = [], []

    @app.job
    def late():
        begun.append("late")

    class Executor:
        def call(self, attempt):
            return attempt.call(lambda _: None)

        def settle(self, attempt, end):
            ends.append(end.status)

        def skip(self, attempt):
            ends.append("skipped")

    late.submit()
    [lease] = claim(app.store, enrol(app.store), "late")
    attempt = Attempt(lease, late.handler, clock.uptime())
    assert attempt.interrupt(Interruption.CANCELLED)
    run_blocking(attempt.run(Executor()))
    assert (begun, ends) == ([], ["CANCELLED"])


def test_a_cancelled_isolated_handler_ends_as_a_tree_though_it_ignores_signals(app, workers, url):
    workers.start(environment={"WORKSHOP_LEASE": "600"})
    job = app.submit("apart", {"act": "defy"})
    [[_, *pids]] = until(lambda: workers.journal("bred"))
    app.cancel(job, reason="enough")
    assert job.wait(timeout=60).status == "CANCELLED"
    until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids))
    assert names(url, job.id) == ASKED


def test_a_cancelled_async_handler_in_a_process_of_its_own_may_tidy_up(app, workers):
    workers.start()
    job = app.submit("apart_asleep")
    until(lambda: workers.journal("start", "apart_asleep"))
    app.cancel(job)
    assert job.wait(timeout=60).status == "CANCELLED"
    assert workers.journal("stopped", "apart_asleep")
