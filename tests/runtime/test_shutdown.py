"""A handler that stops because its worker does gives its task back, and no attempt is spent."""

import asyncio
import threading

from leasehold import Released, Retry
from tests.support.db import check_journal, check_places, connected
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until


def check_given_back_and_gone_on_with(app, url, tmp_path, kind, begun):
    job = kind.submit()
    with run_worker(url, kind):
        assert begun.wait(60)
    assert job.status == "READY"
    assert [event.name for event in app.journal.of(job.id) if event.name != "moved"][-1] == "released"
    check_journal(url)
    check_places(url)
    app.drain(timeout=60)
    assert (job.status, job.output) == ("DONE", {"attempt": 1, "acts": 1})
    assert app.journal.verify(job.id).equal
    with (tmp_path / "job.ndjson").open("w+b") as file:
        app.journal.export(job.id, file)
    assert app.journal.verify(tmp_path / "job.ndjson").equal
    check_journal(url)


def test_a_handler_on_a_thread_gives_its_task_back_when_its_worker_leaves(app, url, tmp_path):
    begun, acts = threading.Event(), []

    def act():
        acts.append(1)
        return {"acts": len(acts)}

    @app.job(retry=Retry(attempts=1))
    def long(task):
        done = task.effect("ACT", act)
        if not begun.is_set():
            begun.set()
            until(lambda: task.stopping, timeout=60)
            raise Released
        return {"attempt": task.attempt, **done}

    check_given_back_and_gone_on_with(app, url, tmp_path, long, begun)
    assert acts == [1]


def test_an_async_handler_gives_its_task_back_when_its_worker_leaves(app, url, tmp_path):
    begun, acts = threading.Event(), []

    async def act():
        acts.append(1)
        return {"acts": len(acts)}

    @app.job(retry=Retry(attempts=1))
    async def long(task):
        done = await task.effect("ACT", act)
        if not begun.is_set():
            begun.set()
            await asyncio.to_thread(until, lambda: task.stopping, timeout=60)
            raise Released
        return {"attempt": task.attempt, **done}

    check_given_back_and_gone_on_with(app, url, tmp_path, long, begun)
    assert acts == [1]


def test_a_loop_does_not_wait_for_a_database_that_is_slow_to_take_a_task_back(app, url):
    begun, turns = [], []

    @app.job(retry=Retry(attempts=1))
    async def long(task, turns_wanted: int):
        begun.append(task)
        await asyncio.to_thread(until, lambda: task.stopping, timeout=60)
        for _ in range(turns_wanted):
            await asyncio.sleep(0)
            turns.append(1)
        raise Released

    jobs = [long.submit({"turns_wanted": 0}), long.submit({"turns_wanted": 50})]
    with connected(url) as connection:

        def go_on():
            try:
                until(lambda: len(turns) == 50)
            finally:
                connection.execute("COMMIT")

        with run_worker(url, long):
            until(lambda: len(begun) == 2)
            connection.execute("BEGIN IMMEDIATE" if url.startswith("sqlite") else "BEGIN")
            if not url.startswith("sqlite"):
                connection.execute("LOCK TABLE lease IN EXCLUSIVE MODE")
            waiting = threading.Thread(target=go_on)
            waiting.start()
        waiting.join()
    assert {job.status for job in jobs} == {"READY"}
    check_places(url)


def test_who_gives_back_for_no_reason_has_failed(app):
    @app.job(retry=Retry(attempts=2, delay_initial=0))
    def tired(task):
        assert not task.stopping
        raise Released("no mood")

    job = tired.submit()
    app.drain(timeout=60)
    assert job.status == "ERROR"
    assert job.failure is not None
    assert "no mood" in job.failure["message"]
