"""Hooks: what surrounds every attempt, and what a worker calls when it starts and stops."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

import pytest

from leasehold import Permanent
from leasehold.errors import StartFailed
from leasehold.runtime.replay.replayer import replay
from tests.support.db import rows

span = ContextVar("span", default="none")


def job_of(app, function):
    job = app.job(function).submit()
    app.drain()
    return job


def test_arounds_surround_every_attempt_on_threads_and_on_the_loop_the_first_outermost(app):
    seen = []

    @app.around
    def outer(task):
        seen.append(f"outer {task.lease.route} {task.attempt}")
        token = span.set("set by outer")
        yield
        span.reset(token)
        seen.append("outer ends")

    @app.around
    @contextmanager
    def inner(task):
        seen.append("inner")
        yield
        seen.append("inner ends")

    def plain():
        return span.get()

    async def waiting():
        await asyncio.sleep(0)
        return span.get()

    for function in (plain, waiting):
        assert job_of(app, function).output == "set by outer"
        assert seen == [f"outer {function.__name__} 1", "inner", "inner ends", "outer ends"]
        seen.clear()


def test_an_async_around_surrounds_async_handlers_alone(app):
    seen = []

    @app.around
    async def pooled(task):
        seen.append(asyncio.get_running_loop() is not None)
        yield
        seen.append(task.lease.route)

    @app.around
    @asynccontextmanager
    async def decorated(task):
        seen.append(task.attempt)
        yield

    def plain():
        return "done"

    async def waiting():
        return "done"

    assert job_of(app, plain).output == "done"
    assert seen == []
    assert job_of(app, waiting).output == "done"
    assert seen == [True, 1, "waiting"]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_around_sees_the_failure_and_cannot_hide_it(app, is_async):
    seen = []

    @app.around
    @contextmanager
    def hides(task):
        try:
            yield
        except Permanent as error:
            seen.append(f"{error} {task.attempt}")

    def plain():
        raise Permanent("refused")

    async def waiting():
        raise Permanent("refused")

    job = job_of(app, waiting if is_async else plain)
    assert (job.status, job.failure["message"]) == ("ERROR", "Permanent: refused")
    assert seen == ["refused 1"]


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("is_async", [False, True])
def test_an_around_that_raises_fails_the_attempt_and_ends_the_others(app, where, is_async):
    seen = []

    @app.around
    def outer(task):
        try:
            yield
        finally:
            seen.append("outer ends")

    @app.around
    def broken(task):
        if where == "before":
            raise Permanent("no span")
        yield
        raise Permanent("no span")

    def plain():
        seen.append("called")

    async def waiting():
        seen.append("called")

    job = job_of(app, waiting if is_async else plain)
    assert (job.status, job.failure["message"]) == ("ERROR", "Permanent: no span")
    assert seen == (["called"] if where == "after" else []) + ["outer ends"]


def test_an_around_that_is_no_context_manager_fails_the_attempt_with_a_sentence(app):
    app.around(lambda task: None)

    def plain(): ...

    job = job_of(app, plain)
    assert job.failure["error_class"] == "MISUSE"
    assert "not a context manager" in job.failure["message"]


ISOLATED = """
import os, sys
from leasehold import Leasehold
import tracing

@tracing.app.job(isolated=True)
def apart():
    return {"span": tracing.current, "pid": os.getpid()}

@tracing.app.job(isolated=True)
async def apart_async():
    return {"span": tracing.current, "pid": os.getpid()}

if __name__ == "__main__":
    import elsewhere
    jobs = [apart.submit(), apart_async.submit()]
    tracing.app.drain()
    for job in jobs:
        assert job.output["pid"] != os.getpid()
        print(job.output["span"])
"""
TRACING = """
from leasehold import Leasehold
app = Leasehold()
current = "none"
"""
ELSEWHERE = """
import tracing
@tracing.app.around
def traced(task):
    tracing.current = task.lease.route
    yield
"""


def test_around_an_isolated_handler_they_run_in_its_process(url, tmp_path):
    """Also those of a module that the handler's module does not import."""
    for name, text in (("main", ISOLATED), ("tracing", TRACING), ("elsewhere", ELSEWHERE)):
        (tmp_path / f"{name}.py").write_text(text)
    known = os.environ | {"LEASEHOLD_URL": url}
    words = [sys.executable, "main.py"]
    ran = subprocess.run(words, cwd=tmp_path, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["apart", "apart_async"]


def test_a_replay_calls_no_arounds(app, tmp_path):
    seen = []

    @app.around
    def counts(task):
        seen.append(task.attempt)
        yield

    @app.job
    def plain():
        return "done"

    job = plain.submit()
    app.drain()
    path = tmp_path / "record.ndjson"
    with path.open("wb") as file:
        app.journal.export(job.id, file)
    assert replay(path, {"plain": plain.handler}).equal
    assert seen == [1]


def test_start_hooks_run_before_anything_is_claimed_and_stop_hooks_after_the_last_attempt(app):
    seen: list[tuple[str, object]] = []
    main = threading.get_ident()

    @app.on_start
    def first():
        seen.append(("first", threading.get_ident() == main))

    @app.on_start
    async def second():
        seen.append(("second", asyncio.get_running_loop()))

    @app.on_stop
    async def last():
        seen.append(("last", asyncio.get_running_loop()))

    @app.on_stop
    def before_last():
        seen.append(("before last", True))

    @app.job
    async def waiting():
        seen.append(("job", asyncio.get_running_loop()))

    waiting.submit()
    app.drain()
    assert [name for name, _ in seen] == ["first", "second", "job", "before last", "last"]
    assert seen[0][1]
    assert seen[1][1] is seen[2][1] is seen[4][1]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_worker_whose_start_hook_fails_claims_nothing_and_names_the_cause(app, url, is_async):
    seen = []

    def plain():
        raise ConnectionError("no route to postgresql://me:s3cretword@cache/0")

    async def waiting():
        plain()

    app.on_start(waiting if is_async else plain)
    app.on_stop(lambda: seen.append("stopped"))

    @app.job
    def work():
        seen.append("worked")

    job = work.submit()
    with pytest.raises(StartFailed, match="ConnectionError: no route") as raised:
        app.drain()
    assert "s3cretword" not in str(raised.value)
    assert (seen, job.status) == ([], "READY")
    assert rows(url, "SELECT count(*) FROM worker WHERE ended_at IS NULL") == [(0,)]


def test_a_stop_hook_that_fails_is_logged_and_the_others_run(app, caplog):
    caplog.set_level(logging.INFO, logger="leasehold")
    seen = []
    app.on_stop(lambda: seen.append("closed"))

    @app.on_stop
    def broken():
        raise RuntimeError("cannot flush")

    @app.job
    def plain(): ...

    app.drain()
    assert seen == ["closed"]
    assert "part=on_stop" in caplog.text
    assert "cannot flush" in caplog.text


def test_the_worker_command_calls_the_hooks(app, url, tmp_path):
    (tmp_path / "shop.py").write_text(
        "from leasehold import Leasehold\n"
        "app = Leasehold()\n"
        "@app.job\n"
        "def plain(): ...\n"
        "@app.on_start\n"
        "def connect(): raise OSError('no cache')\n"
    )
    words = [sys.executable, "-m", "leasehold", "worker", "shop:app"]
    known = os.environ | {"LEASEHOLD_URL": url}
    ran = subprocess.run(words, cwd=tmp_path, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 2, ran.stderr
    assert "connect: OSError: no cache" in ran.stderr
    assert "Traceback" not in ran.stderr
