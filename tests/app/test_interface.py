"""The public interface, as the design writes it: decorators, submits, handles, lists."""

import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest

import leasehold
from leasehold import JobUnknown, KeyConflict, KindUnknown, Leasehold, LeaseholdError, Retry, Status, WaitTimeout
from leasehold.errors import OptionInvalid
from tests.support.db import check_journal, check_places, rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until


def test_a_job_gets_its_payload_as_arguments_and_the_task_only_if_it_asks(app):
    @app.job(queue="mail", retry=Retry(attempts=5), lease=30)
    def welcome(task, user_id: int, language: str = "en"):
        return {"user": user_id, "language": language, "attempt": task.attempt, "payload": task.payload}

    @app.job
    def plain(number: int):
        return number + 1

    first = welcome.submit({"user_id": 7}, key="welcome:7")
    second = app.submit(plain, {"number": 1})
    assert (first.status, second.status) == (Status.READY, Status.READY)
    app.drain()
    assert first.status == "DONE"
    assert first.output == {"user": 7, "language": "en", "attempt": 1, "payload": {"user_id": 7}}
    assert second.output == 2


def test_async_and_sync_handlers_run_and_are_still_plain_functions(app):
    @app.job()
    async def on_the_loop():
        """Return where it runs."""
        return threading.current_thread().name

    @app.job(name="on-a-thread")
    def on_a_thread():
        return threading.current_thread().name

    loop, thread = on_the_loop.submit(), on_a_thread.submit()
    app.drain()
    assert loop.output != thread.output != threading.current_thread().name
    assert on_a_thread() == threading.current_thread().name
    assert on_the_loop.__doc__ == "Return where it runs."
    assert thread.kind == "on-a-thread"


def test_the_same_key_is_the_same_job_and_another_payload_a_conflict(app):
    @app.job
    def welcome(user_id: int):
        return user_id

    first = welcome.submit({"user_id": 7}, key="welcome:7")
    again = app.submit("welcome", {"user_id": 7}, key="welcome:7")
    assert again.id == first.id
    with pytest.raises(KeyConflict) as refused:
        welcome.submit({"user_id": 8}, key="welcome:7")
    assert refused.value.code == "KEY_CONFLICT"
    app.drain()
    assert welcome.submit({"user_id": 7}, key="welcome:7").output == 7


def test_a_process_without_handlers_submits_by_name_what_a_worker_published(app, url):
    @app.job(queue="mail", lease=5, retry=Retry(attempts=2))
    def welcome(user_id: int):
        return user_id

    stranger = Leasehold(url)
    with pytest.raises(KindUnknown) as unknown:
        stranger.submit("welcome", {"user_id": 1})
    assert unknown.value.code == "KIND_UNKNOWN"
    app.drain()
    job = stranger.submit("welcome", {"user_id": 1})
    assert rows(url, "SELECT queue, attempts_max, lease_ms FROM task") == [("mail", 2, 5000)]
    app.drain()
    assert job.wait(timeout=60).output == 1
    stranger.close()


def test_many_jobs_are_submitted_at_once_and_all_run(app, url):
    @app.job
    async def welcome(user_id: int):
        return user_id

    jobs = app.submit_many(welcome, [{"user_id": number} for number in range(5_000)])
    assert [job.payload["user_id"] for job in jobs] == list(range(5_000))
    app.drain()
    assert rows(url, "SELECT count(*) FROM outcome WHERE status = 'DONE'") == [(5_000,)]
    assert jobs[4_999].output == 4_999
    check_places(url)
    check_journal(url)


def test_many_jobs_are_submitted_all_or_none(app):
    @app.job
    def welcome(user_id: int): ...

    welcome.submit({"user_id": 1}, key="b")
    with pytest.raises(KeyConflict):
        app.submit_many(welcome, [{"user_id": 1}, {"user_id": 2}], keys=["a", "b"])
    with pytest.raises(OptionInvalid):
        app.submit_many(welcome, [{"user_id": 1}], keys=[])
    assert [job.key for job in app.jobs()] == ["b"]


def test_higher_priority_runs_first_and_equals_run_in_order(app):
    order = []

    @app.job
    async def step(name: str):
        order.append(name)

    for name, priority in [("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)]:
        step.submit({"name": name}, priority=priority)
    app.drain(concurrency=1)
    assert order == ["b", "d", "a", "e", "c"]


def test_a_delayed_job_waits_for_its_time_and_drain_waits_for_it(app):
    @app.job
    def late(): ...

    job = late.submit(delay=1.0)
    assert job.status == "NEW"
    app.drain()
    assert job.status == "DONE"
    assert (job.finished_at - job.created_at).total_seconds() >= 1.0


def test_drain_can_leave_what_is_not_due_yet(app):
    @app.job
    def late(): ...

    job = late.submit(delay=3600)
    app.drain(wait_for_due=False)
    assert job.status == "NEW"
    with pytest.raises(WaitTimeout):
        app.drain(timeout=0.2)


def test_waiting_for_a_job_ends_with_it_or_with_a_timeout(app, url):
    gate = threading.Event()

    @app.job
    def held():
        gate.wait(60)
        return "through"

    job = held.submit()
    with run_worker(url, held):
        with pytest.raises(WaitTimeout) as waited:
            job.wait(timeout=0.1)
        assert waited.value.code == "WAIT_TIMEOUT"
        until(lambda: job.status == "RUNNING")
        gate.set()
        assert job.wait(timeout=60) is job
    assert job.output == "through"


def test_a_job_shows_its_facts_and_get_reads_it_again(app):
    @app.job
    def fact(number: int):
        return {"twice": number * 2}

    before = datetime.now(UTC)
    job = fact.submit({"number": 4}, key="k")
    assert (job.kind, job.key, job.payload, job.output, job.failure, job.finished_at) == (
        "fact", "k", {"number": 4}, None, None, None,
    )  # fmt: skip
    assert abs((job.created_at - before).total_seconds()) < 60
    app.drain()
    found = app.get(job.id)
    assert (found.id, found.status, found.output) == (job.id, "DONE", {"twice": 8})
    assert found.finished_at >= found.created_at
    with pytest.raises(JobUnknown):
        app.get(job.id + 1000)


def test_jobs_are_listed_newest_first_by_status_kind_and_number(app):
    @app.job
    def good(): ...

    @app.job(retry=Retry(attempts=1), queue="other")
    def bad():
        raise RuntimeError("no")

    goods, bads = app.submit_many(good, [{}] * 3), app.submit_many(bad, [{}] * 2)
    app.drain()
    assert [job.id for job in app.jobs()] == [job.id for job in reversed(goods + bads)]
    assert [job.id for job in app.jobs(status="ERROR")] == [job.id for job in reversed(bads)]
    assert [job.id for job in app.jobs(kind="good", limit=2)] == [goods[2].id, goods[1].id]
    assert len(app.jobs(queue="other")) == 2
    assert app.jobs(status="READY") == []
    with pytest.raises(OptionInvalid):
        app.jobs(status="FINISHED")


def test_a_job_that_has_not_started_is_cancelled_at_once_and_never_runs(app):
    @app.job
    def never():
        raise AssertionError("it ran")

    ready, waiting = never.submit(), never.submit(delay=3600)
    assert app.cancel(ready, reason="changed my mind").status == "CANCELLED"
    assert app.cancel(waiting.id, reason="and this").status == "CANCELLED"
    assert ready.failure["message"] == "changed my mind"
    app.drain()
    assert [job.status for job in app.jobs()] == ["CANCELLED", "CANCELLED"]


def test_s5_a_settled_job_is_not_changed_by_a_later_cancel(app):
    @app.job
    def done():
        return 1

    job = done.submit()
    app.drain()
    finished = job.finished_at
    assert app.cancel(job).status == "DONE"
    assert (app.get(job.id).output, app.get(job.id).finished_at) == (1, finished)


def test_a_worker_keeps_to_the_queues_and_caps_it_was_given(app, url):
    lock, running, most = threading.Lock(), [], []

    @app.job(queue="mail")
    def mail(number: int):
        with lock:
            running.append(number)
            most.append(len(running))
        threading.Event().wait(0.005)
        with lock:
            running.remove(number)

    @app.job(queue="other")
    def other(): ...

    left = other.submit()
    app.submit_many(mail, [{"number": number} for number in range(40)])
    app.drain(queues={"mail": 2})
    assert max(most) == 2
    assert left.status == "READY"
    app.drain(queues=["other"])
    assert left.status == "DONE"


def test_the_url_comes_from_the_environment_or_is_a_file_here(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASEHOLD_URL", f"sqlite:///{tmp_path}/named.db")
    assert Leasehold().url == f"sqlite:///{tmp_path}/named.db"
    monkeypatch.delenv("LEASEHOLD_URL")
    monkeypatch.chdir(tmp_path)
    program = "from leasehold import Leasehold; app = Leasehold(); app.migrate(); app.close()"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert (tmp_path / "leasehold.db").exists()


def test_every_error_has_a_code_of_its_own_and_the_public_names_are_there():
    todo = [LeaseholdError]
    codes: dict[str, set] = {}
    while todo:
        error = todo.pop()
        todo.extend(error.__subclasses__())
        assert error.code == error.code.upper()
        codes.setdefault(error.code, set()).add(error)
    assert [code for code, errors in codes.items() if len(errors) > 1] == []
    assert all(hasattr(leasehold, name) for name in leasehold.__all__)
    expected = {"JobUnknown", "WaitTimeout", "KindUnknown", "ArgumentsInvalid", "PayloadInvalid"}
    assert expected <= set(leasehold.__all__)
