"""What a handler, a pipeline or the machine does wrong stays with it: the worker goes on, nothing is held for ever."""

import asyncio
import contextvars
import resource
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from leasehold.errors import DatabaseUnavailable, GraphInvalid, Misuse, OptionInvalid
from leasehold.model.effect import intend
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.execute.event_loop import LoopRunner
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.worker import shorten_switch_interval
from leasehold.store import open_store
from leasehold.store.leases import Claimed
from tests.support.processes.local_worker import plan_of, run_worker
from tests.support.wait import until


@pytest.mark.parametrize("way", ["exit below", "stop the loop"])
def test_l1_a_handler_that_ends_the_event_loop_does_not_end_the_work_on_it(app, url, way):
    """L1: the loop goes on, and so does everything on it."""

    async def leave():
        sys.exit(3)

    @app.job
    async def bad(task):
        if task.attempt == 1:
            if way == "exit below":
                await asyncio.gather(asyncio.create_task(leave()))
            asyncio.get_running_loop().stop()
        return "went on"

    @app.job
    async def good():
        await asyncio.sleep(0)
        return "good"

    first = bad.submit()
    jobs = [good.submit() for _ in range(5)]
    with run_worker(url, bad, good):
        until(lambda: all(job.status == "DONE" for job in [first, *jobs]))
    assert first.output == "went on"


@pytest.mark.parametrize("each", ["", "\0", "\ud800", "x" * 600, 5, ["x"]])
def test_a_field_that_no_output_can_have_is_refused_where_the_stage_is_defined(app, each):
    film = app.pipeline("film")
    film.stage(name="first")(lambda: {"x": []})
    with pytest.raises((OptionInvalid, GraphInvalid)):
        film.stage(name="second", after="first", each=each)(lambda: None)


def test_a_task_begun_inside_a_transaction_does_not_write_into_one_that_has_ended(app, url):
    """S3: what was acknowledged is there."""
    from tests.support.db import connected

    @app.job
    def later(): ...

    ended = threading.Event()

    async def submit_later():
        await asyncio.to_thread(ended.wait)
        return app.submit(later, key="later")

    async def run(connection):
        with app.transaction(connection):
            task = asyncio.create_task(submit_later())
            await asyncio.sleep(0)
        connection.execute("BEGIN")
        ended.set()
        job = await task
        connection.execute("ROLLBACK")
        return job

    with connected(url) as connection:
        job = asyncio.run(run(connection))
    assert app.get(job.id).status == "READY"


def test_a_thread_that_cannot_be_started_gives_its_tasks_back(app, url):
    """L1: what could not be started is released, spends no attempt and is not held."""

    @app.job
    def work(): ...

    app.submit_many(work, [{}] * 20)
    plan = plan_of(work)
    with closing(open_store(url)) as store:
        worker = store.workers.register(_nobody())
        held = HeldAttempts(10, {})
        committer = Committer(store, held, EventLog(), lambda: None)

        def refuse(attempts):
            raise RuntimeError(f"can't start new thread for {len(attempts)}")

        claimer = Claimer(store, worker, plan.handlers, ["default"], held, committer, EventLog(), refuse)
        with pytest.raises(RuntimeError):
            claimer.claim(5)
        assert held.all() == []
        assert held.capacity.free() == 10
        assert store.leases.held_by(worker) == []
    assert len(app.jobs(status="READY")) == 20


def _nobody():
    from leasehold.model.owner import Owner

    return Owner("host", "", "", 1, 1)


class _Deaf:
    """Leases of a store whose first claim is committed and then reported as lost on the way."""

    def __init__(self, leases):
        self._leases = leases

    def claim(self, *arguments):
        self._leases.claim(*arguments)
        return Claimed([], in_doubt=True)

    def __getattr__(self, name):
        return getattr(self._leases, name)


def test_leases_that_a_claim_took_without_an_answer_are_given_back(app, url):
    @app.job
    def work(): ...

    app.submit_many(work, [{}] * 3)
    plan = plan_of(work)
    with closing(open_store(url)) as store:
        worker = store.workers.register(_nobody())
        store.leases = _Deaf(store.leases)  # type: ignore[assignment]
        held = HeldAttempts(10, {})
        committer = Committer(store, held, EventLog(), lambda: None)
        claimer = Claimer(store, worker, plan.handlers, ["default"], held, committer, EventLog(), lambda _: None)
        claimer.claim(3)
        assert store.leases.held_by(worker) == []
    assert [event.name for event in app.journal.of(app.jobs()[0].id)] == ["submitted", "claimed", "released"]


class _Out:
    """A part of a store whose writes fail with an unexpected error, a group at once or, if `refuses`, one by one."""

    def __init__(self, part, *, refuses):
        self._part = part
        self._refuses = refuses

    def settle(self, group, records=(), *_):
        if self._refuses and len(group) + len(records) > 1:
            raise Misuse("one of them")
        raise OSError(24, "Too many open files")

    enter = settle

    def __getattr__(self, name):
        return getattr(self._part, name)


class _Reply:
    """Keeps what it is answered."""

    loop = None
    value = None

    def answer(self, value):
        self.value = value


@pytest.mark.parametrize("refuses", [False, True])
def test_l1_what_cannot_be_written_for_a_reason_nobody_knows_is_not_held_for_ever(app, url, refuses):
    """Else the heartbeat would renew its lease for as long as the process lives, and an effect would wait as long."""

    @app.job
    def work(): ...

    app.submit_many(work, [{}] * 3)
    with closing(open_store(url)) as store:
        worker = store.workers.register(_nobody())
        held = HeldAttempts(10, {})
        committer = Committer(store, held, EventLog(), lambda: None)
        taken: list = []
        handlers = plan_of(work).handlers
        Claimer(store, worker, handlers, ["default"], held, committer, EventLog(), taken.extend).claim(3)
        store.leases, store.effects = (_Out(part, refuses=refuses) for part in (store.leases, store.effects))  # type: ignore[assignment]
        replies = [_Reply() for _ in taken]
        for attempt, reply in zip(taken, replies, strict=True):
            committer.commit(attempt, intend(attempt.lease, "ACT", {}, 1), reply)  # type: ignore[arg-type]
        committer.write()
        assert [type(reply.value) for reply in replies] == [DatabaseUnavailable] * 3
        for attempt in taken:
            attempt.begin()
            attempt.end()
            committer.settle(attempt, attempt.succeed(None))
        committer.write()
        assert held.all() == []


def test_no_attempt_sees_the_context_variables_of_another(app, url):
    secret = contextvars.ContextVar("secret", default="nothing")

    @app.job
    async def look(number: int):
        before = secret.get()
        secret.set(f"the secret of {number}")
        return before

    jobs = app.submit_many(look, [{"number": number} for number in range(50)])
    app.drain()
    assert {job.output for job in jobs} == {"nothing"}


@pytest.mark.parametrize(("set_by_somebody", "then"), [(0.005, 0.0005), (0.02, 0.02)])
def test_threads_take_turns_more_often_unless_somebody_has_set_how_often(set_by_somebody, then):
    before = sys.getswitchinterval()
    try:
        sys.setswitchinterval(set_by_somebody)
        shorten_switch_interval()
        assert sys.getswitchinterval() == then
    finally:
        sys.setswitchinterval(before)


def test_a_lane_runs_many_attempts_that_do_not_wait():
    ran = []
    done = threading.Event()

    async def run(attempt):
        ran.append((attempt, id(asyncio.current_task())))
        if len(ran) == 100:
            done.set()

    class Named:
        stop = None

    lanes = LoopRunner(run, lambda _: None)
    lanes.take([Named() for _ in range(100)])  # type: ignore[misc]
    assert done.wait(60)
    lanes.close()
    assert len({task for _, task in ran}) == 1


def test_a_child_that_cannot_be_started_leaks_no_descriptor(app, url, tmp_path):
    script = tmp_path / "leak.py"
    script.write_text(
        "import os, resource, sys\n"
        "from leasehold import Leasehold, Retry\n"
        "app = Leasehold(sys.argv[1])\n"
        "@app.job(isolated=True, retry=Retry(attempts=2, delay_initial=0, delay_max=0))\n"
        "def work(): return 1\n"
        "if __name__ == '__main__':\n"
        "    app.submit_many(work, [{}] * 20)\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50))\n"
        "    app.drain(concurrency=20)\n"
        "    print(len(os.listdir('/proc/self/fd')))\n",
        encoding="utf-8",
    )
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 50
    ran = subprocess.run([sys.executable, str(script), url], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 35


def test_an_isolated_job_of_a_script_that_drains_outside_main_fails_with_that_reason(url, tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(
        "import sys\n"
        "from leasehold import Leasehold\n"
        "app = Leasehold(sys.argv[1])\n"
        "@app.job(isolated=True)\n"
        "def work(): return 1\n"
        "job = work.submit(key='one')\n"
        "app.drain()\n"
        "print(job.status, job.failure['message'])\n",
        encoding="utf-8",
    )
    ran = subprocess.run([sys.executable, str(script), url], capture_output=True, text=True, check=False)
    assert "ERROR" in ran.stdout, ran.stderr
    assert "__main__" in ran.stdout


def test_a_handler_that_drains_is_refused_instead_of_waiting_for_itself(app):
    @app.job
    def inner():
        app.drain()

    job = inner.submit()
    app.drain()
    assert job.failure["error_class"] == "MISUSE"
