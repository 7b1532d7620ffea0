"""Deadlines: a job that has not ended in time is cancelled with all its tasks, with the class TIMEOUT."""

import asyncio
import threading

import pytest

from leasehold import Permanent
from leasehold.errors import OptionInvalid, number_text
from leasehold.testing import Clock
from tests.support.db import check_journal, check_places, names, rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until


def check_late(job, seconds):
    assert (job.status, job.failure["error_class"]) == ("CANCELLED", "TIMEOUT")
    assert job.failure["message"] == f"the job had not ended by its deadline, {number_text(seconds)} s after its submit"


def test_s10_a_job_that_runs_past_its_deadline_is_stopped(app, url):
    stopped = threading.Event()

    @app.job(deadline=0.2, lease=600)
    async def asleep():
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    job = asleep.submit()
    with run_worker(url, asleep):
        job.wait(timeout=60)
    check_late(job, 0.2)
    assert names(url, job.id)[-1] == "cancelled"
    assert rows(url, "SELECT count(*) FROM deadline") == [(0,)]
    check_places(url)
    check_journal(url)


def test_a_job_that_nobody_can_run_ends_at_its_deadline(app, url):
    manual = Clock(app)

    @app.job
    def other(): ...

    @app.job(queue="unserved", deadline=60)
    def kept(): ...

    jobs = [kept.submit(), kept.submit(deadline=3600), app.submit("kept", delay=600)]
    with run_worker(url, other):
        manual.advance(61)
        until(lambda: jobs[2].status.settled)
        check_late(jobs[0], 60)
        check_late(jobs[2], 60)
        assert jobs[1].status == "READY"
        manual.advance(3600)
        until(lambda: jobs[1].status.settled)
    check_late(jobs[1], 3600)
    check_journal(url)


def test_a_pipeline_ends_as_a_whole(app, url):
    film = app.pipeline("film", deadline=0.2)
    stopped = threading.Event()

    @film.stage
    async def script():
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    @film.stage(after=script)
    def render(): ...

    job = film.submit()
    with run_worker(url, film):
        until(lambda: stopped.is_set() or job.status.settled)
        until(lambda: {status for (status,) in rows(url, "SELECT status FROM outcome")} == {"CANCELLED"})
        job.wait(timeout=60)
    check_late(job, 0.2)
    check_journal(url)


def test_a_job_that_ended_in_time_keeps_its_end_and_one_that_is_revived_has_no_deadline(app, url):
    manual, gate = Clock(app), {"open": False}

    @app.job(deadline=60)
    def charge():
        if not gate["open"]:
            raise Permanent("the key was refused")
        return "charged"

    job = charge.submit()
    app.drain()
    [letter] = app.deadletters.list()
    app.deadletters.evidence(letter.id, "rotated the key", principal="ada")
    gate["open"] = True
    manual.advance(61)
    app.deadletters.revive(letter.id, principal="ada")
    app.drain()
    assert (job.status, job.output) == ("DONE", "charged")
    check_journal(url)


def test_the_same_submit_again_changes_no_deadline(app, url):
    @app.job
    def kept(): ...

    for deadline in (60, 600, None):
        job = kept.submit(key="a", deadline=deadline)
    spans = "SELECT job_id, at - (SELECT created_at FROM task WHERE id = deadline.job_id) FROM deadline"
    [(job_id, after)] = rows(url, spans)
    assert (job_id, after) == (job.id, 60_000_000)
    versioned = kept.submit(key="b", version=1, deadline=60)
    many = app.submit_many(kept, [{} for _ in range(300)], deadline=60)
    assert {row[0] for row in rows(url, "SELECT job_id FROM deadline")} == {job.id, versioned.id, *(m.id for m in many)}


@pytest.mark.parametrize("deadline", [0, -1, "60", True, float("nan"), 1e12])
def test_a_deadline_is_a_number_of_seconds(app, deadline):
    with pytest.raises(OptionInvalid, match="deadline"):
        app.job(deadline=deadline)
    with pytest.raises(OptionInvalid, match="deadline"):
        app.submit_many("kept", [{}], deadline=deadline)
