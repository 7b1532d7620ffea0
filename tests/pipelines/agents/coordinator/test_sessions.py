"""Sessions and their coordinators: who may have one, what reaches its children, how it is left and opened again."""

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold.pipelines.agents import (
    ChildBudget,
    SessionRequest,
    SessionTerms,
    cancel,
    errors,
    open_place,
    spawn,
    start_session,
)
from leasehold.pipelines.agents.coordinator.engine_jobs import SESSION_KIND
from leasehold.pipelines.agents.event_files import lines_of
from leasehold.pipelines.agents.verify import verify
from tests.pipelines.agents.child.children import is_alive
from tests.pipelines.agents.coordinator.sessions import FOREVER, PYTHON, session, spec, started
from tests.support.wait import until

SLEEPER = (*PYTHON, FOREVER)


def ends(opened):
    return {state.name: state.code or "passed" for state in opened.children() if state.has_ended}


def test_a_second_coordinator_never_touches_the_children_of_a_living_one(tmp_path, url):
    with session(tmp_path, url) as first:
        first.spawn(spec("one", *SLEEPER, timeout=60), "r1")
        started(first, "one")
        with pytest.raises(errors.SessionInactive):
            session(tmp_path, url).__enter__()
        with session(tmp_path, url, "other") as second:
            assert second.recovered == []
            assert second.leave()["status"] == "ended"
        (row,) = first.snapshot().rows
        assert row.phase == "started"
        assert first.stop()["status"] == "stopped"


def test_a_session_of_another_folder_is_refused_where_its_files_are_not(tmp_path, url):
    session(tmp_path, url).__enter__().close()
    (tmp_path / "other").mkdir()
    with pytest.raises(errors.SessionInvalid) as refused:
        session(tmp_path / "other", url).__enter__()
    assert str(tmp_path) in refused.value.detail


def test_of_many_coordinators_that_start_one_session_at_once_one_gets_it(tmp_path, url):
    def start(_):
        with open_place(tmp_path, url) as place:
            try:
                opened = start_session(place, SessionRequest(SessionTerms("demo"), ChildBudget(tokens=5)))
            except errors.SessionInactive:
                return False
            ready.wait()
            opened.close()
            return True

    ready = threading.Event()
    with ThreadPoolExecutor(6) as pool:
        found = [pool.submit(start, number) for number in range(6)]
        until(lambda: sum(one.done() for one in found) == 5)
        ready.set()
    assert sorted(one.result() for one in found) == [False] * 5 + [True]


def test_a_session_whose_coordinator_is_gone_accepts_no_spawn_before_its_recovery(tmp_path, url):
    with session(tmp_path, url) as opened:
        opened.spawn(spec("one", "true"), "r1")
    with open_place(tmp_path, url) as place, pytest.raises(errors.RecoveryPending):
        spawn(place, "demo", spec("two", "true"), "r2")
    with session(tmp_path, url) as opened:
        assert [child.failed.code for child in opened.recovered] == ["URM_SCHEDULER_LEASE_ORPHANED"]
        with open_place(tmp_path, url) as place:
            spawn(place, "demo", spec("two", "true"), "r3")
            spawn(place, "demo", spec("two", "true"), "r3")
        opened.start()
        opened.wait_idle()
        assert ends(opened) == {"one": "URM_SCHEDULER_LEASE_ORPHANED", "two": "passed"}


def test_what_was_started_is_answered_once_and_an_ended_session_stays_ended(tmp_path, url):
    request = SessionRequest(SessionTerms("demo"), client_request_id="start-1")
    with open_place(tmp_path, url) as place:
        with start_session(place, request) as opened:
            answer = opened.answer
            stopped = opened.stop("stop-1")
        assert (answer["status"], stopped["status"]) == ("started", "ended")
        with pytest.raises(errors.IdempotencyConflict):
            start_session(place, SessionRequest(SessionTerms("other"), client_request_id="start-1"))
        with pytest.raises(errors.SessionEnded):
            start_session(place, request)


@pytest.mark.parametrize("reserved", [True, False])
def test_accounting_of_another_kind_or_another_budget_is_refused_before_anything_is_held(tmp_path, url, reserved):
    with open_place(tmp_path, url) as place:
        limits = {"tokens": 5} if reserved else {"tokens": 5, "solver_calls": 10**15, "duration_secs": 10**15}
        place.app.submit(SESSION_KIND, {"parent_session_id": "demo", "root": "/"}, key="demo", budget=limits)
        with pytest.raises(errors.AccountingModeInvalid if reserved else errors.SessionInvalid):
            start_session(place, SessionRequest(SessionTerms("demo"), ChildBudget(tokens=6)))
        with pytest.raises(errors.AccountingModeInvalid):
            start_session(place, SessionRequest(SessionTerms("demo", accounting_mode="reservation")))


def test_deterministic_sessions_have_hashed_ids_and_the_time_that_was_given(tmp_path, url):
    def lines(name):
        with session(tmp_path, url, name, ts="2026-01-02T03:04:05.000000Z") as opened:
            for child in ("a", "b"):
                opened.spawn(spec(child, "true"), f"{name}-{child}", child_id=f"{name}-{child}")
                opened.start()
                opened.wait_idle()
            return [line.replace(name, "S") for line in lines_of(opened.state.records, name)]

    runs = [lines("s1"), lines("s1x")]
    assert all('"ts":"2026-01-02T03:04:05.000000Z"' in line for run in runs for line in run)
    assert len(runs[0]) == len(runs[1]) == 10


@pytest.mark.parametrize("count", [30, pytest.param(2_000, marks=pytest.mark.soak)])
def test_s10_cancels_that_race_completions_give_every_child_one_end(tmp_path, url, count):
    with session(tmp_path, url, cap=6) as opened:
        names = [f"c{number}" for number in range(count)]
        for name in names:
            opened.spawn(spec(name, "true"), f"spawn-{name}", child_id=name)
        opened.start()
        shuffled = random.Random(7).sample(names, len(names))

        def cancel_all(some):
            with open_place(tmp_path, url) as place:
                for name in some:
                    cancel(place, name, f"cancel-{name}")
                    assert cancel(place, name, f"again-{name}")["status"] in ("already_requested", "already_terminal")

        threads = [threading.Thread(target=cancel_all, args=(shuffled[part::2],)) for part in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        opened.wait_idle()
        assert set(ends(opened).values()) <= {"passed", "URM_CHILD_CANCELLED", "URM_CHILD_FAILED"}
        assert verify(opened.state.records, "demo") == count


def test_a_cancel_in_the_engine_reaches_the_child_and_ends_its_job_as_cancelled(tmp_path, url):
    with session(tmp_path, url) as opened, open_place(tmp_path, url) as place:
        opened.spawn(spec("one", *SLEEPER, timeout=60), "r1")
        started(opened, "one")
        (state,) = opened.children()
        place.app.cancel(state.job_id)
        opened.coordinator.renew()
        until(lambda: opened.snapshot().is_over)
        assert ends(opened) == {"one": "URM_CHILD_CANCELLED"}
        assert place.app.get(state.job_id).status == "CANCELLED"


def test_the_job_of_a_cancelled_child_names_the_request(tmp_path, url):
    with session(tmp_path, url) as opened, open_place(tmp_path, url) as place:
        opened.spawn(spec("one", *SLEEPER, timeout=60), "r1", child_id="one")
        started(opened, "one")
        assert cancel(place, "one", "request-7")["status"] == "cancel_requested"
        opened.wait_idle()
        (state,) = opened.children()
        job = place.app.get(state.job_id)
        assert (state.code, job.status) == ("URM_CHILD_CANCELLED", "CANCELLED")
        assert "request-7" in str(job.failure)


def test_a_coordinator_whose_lease_was_taken_kills_its_children_and_accepts_no_more(tmp_path, url):
    with open_place(tmp_path, url) as place:
        opened = start_session(place, SessionRequest(SessionTerms("demo")))
        opened.spawn(
            spec(
                "one", *PYTHON, f"import os; open('pid', 'w').write(str(os.getpid()))\n{FOREVER}", folder=str(tmp_path)
            ),
            "r1",
        )
        started(opened, "one")
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        opened.lease.held.release()
        opened.coordinator.renew()
        until(lambda: not is_alive(int((tmp_path / "pid").read_text())))
        with pytest.raises(errors.SessionInactive):
            until(opened.stop)
        opened.close()
        with session(tmp_path, url) as again:
            assert ends(again)["one"] in errors.LOST


def test_memory_stays_small_with_500_children_in_the_queue(tmp_path, url):
    program = f"""
import sys
from pathlib import Path
from tests.pipelines.agents.coordinator.sessions import *
with session(Path({str(tmp_path)!r}), {url!r}) as opened:
    for number in range(500):
        opened.spawn(spec(f"c{{number}}", *PYTHON, FOREVER, input="x" * 100_000), f"r{{number}}")
    started(opened, "c0", "c1")
    assert len(opened.snapshot().rows) == 500
    opened.stop()
    status = Path("/proc/self/status").read_text()  # getrusage would count what the tests' own process had too
    print(status.partition("VmHWM:")[2].split()[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 150 * 1024
