"""Isolated handlers: a child process of their own, spoken to over pipes, ended as a whole tree."""

import os
import subprocess
import sys
import threading
from textwrap import indent

import psutil
import pytest

from leasehold import clock
from leasehold.model.failure.loss import ChildCrash
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.requests import CommitChannel
from leasehold.runtime.execute.isolated import parent
from leasehold.runtime.limits import ISOLATED_START_SECONDS
from leasehold.testing import Clock
from tests.support.db import check_journal, names, rows
from tests.support.manual_leases import claim, enrol
from tests.support.wait import until


def run(app, workers, act, lease=30):
    workers.start(environment={"WORKSHOP_LEASE": str(lease)})
    return app.submit("apart", {"act": act})


def test_an_isolated_handler_has_a_process_of_its_own_and_speaks_with_the_engine(app, workers):
    job = run(app, workers, "answer").wait(timeout=60)
    assert job.status == "DONE", job.failure
    assert job.output["attempt"] == 1
    assert job.output["payload"] == {"act": "answer"}
    assert workers.started[0].pid not in (job.output["pid"], job.output["parent"])
    until(lambda: "printed by the child" in workers.started[0].log)
    until(lambda: not psutil.pid_exists(job.output["pid"]))
    until(lambda: not psutil.pid_exists(job.output["parent"]))


def test_an_isolated_handler_may_be_async(app, workers):
    workers.start()
    assert app.submit("apart_async", {"number": 1}).wait(timeout=60).output == 2


def test_progress_of_an_isolated_handler_is_seen_while_it_runs(app, workers):
    workers.start()
    job = app.submit("film", {"scenes": 3}).wait(timeout=60)
    assert job.output == {"render": {"audio": [0, 10, 20]}}


def test_a_program_below_finds_nothing_on_its_standard_input(app, workers):
    assert run(app, workers, "read_input").wait(timeout=60).output == {"read": "", "inputs": {}}


@pytest.mark.parametrize(("act", "cause"), [("die_once", "signal 9"), ("exit_once", "exit code 3")])
def test_a_child_that_dies_is_a_failed_attempt_and_the_task_is_tried_again(app, workers, act, cause, url):
    job = run(app, workers, act).wait(timeout=60)
    assert job.output == {"attempt": 2}
    [(detail,)] = rows(url, "SELECT detail FROM event WHERE name = 'retried'")
    assert "WORKER_CRASHED" in detail
    assert cause in detail
    check_journal(url)


def test_exceptions_and_bad_results_cross_from_the_child(app, workers):
    refused = run(app, workers, "refuse").wait(timeout=60)
    assert (refused.status, refused.failure["error_class"]) == ("ERROR", "PERMANENT")
    assert "not with me" in refused.failure["message"]
    assert "tests/support/apps/app.py" in refused.failure["stack"]
    bad = app.submit("apart", {"act": "nan"}).wait(timeout=60)
    assert (bad.status, bad.failure["error_class"]) == ("ERROR", "PAYLOAD_INVALID")


def test_a_cancelled_isolated_handler_is_notified_and_ends_cancelled(app, workers, url):
    job = run(app, workers, "obey")
    until(lambda: workers.journal("start", "obey"))
    app.cancel(job, reason="enough")
    assert job.wait(timeout=60).status == "CANCELLED"
    assert workers.journal("cancelled")
    assert names(url, job.id) == ["submitted", "claimed", "asked", "cancelled"]


def family(workers):
    """Return the child, its program that left for a session of its own, and that program's child."""
    [line] = until(lambda: workers.journal("bred"))
    found = [psutil.Process(int(pid)) for pid in line[1:]]
    assert os.getsid(found[1].pid) not in (os.getsid(found[0].pid), os.getsid(workers.started[0].pid))
    return found


def test_a_worker_killed_with_sigkill_takes_the_whole_tree_with_it(app, workers):
    run(app, workers, "breed")
    tree = family(workers)
    workers.started[0].kill()
    assert until(lambda: not any(process.is_running() for process in tree))


def test_programs_that_are_started_while_the_tree_is_being_ended_are_ended_too(app, workers):
    mark = str(os.getpid())
    worker = workers.start(environment={"WORKSHOP_SWARM": mark})
    app.submit("apart", {"act": "swarm"})
    until(lambda: len(workers.journal("bred")) >= 20)
    assert sleepers(mark)
    worker.kill()
    until(lambda: not sleepers(mark))


def sleepers(mark):
    return [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == ["/bin/sleep", f"600.{mark}"]]


def test_a_lost_lease_ends_the_whole_tree(app, workers, url):
    job = run(app, workers, "breed", lease=6)
    tree = family(workers)
    Clock(app).advance(3600)
    until(lambda: not any(process.is_running() for process in tree))
    assert workers.started[0].has_logged("lease_lost")
    workers.open("breed")
    assert job.wait(timeout=60).status == "DONE"
    assert rows(url, "SELECT attempt FROM event WHERE name = 'done'") == [(2,)]


def test_the_tree_is_gone_when_the_handler_has_ended(app, workers):
    job = run(app, workers, "breed")
    tree = family(workers)
    workers.open("breed")
    assert job.wait(timeout=60).status == "DONE"
    until(lambda: not any(process.is_running() for process in tree))


def test_a_lease_lost_while_the_child_is_being_started_still_ends_it(app, url):
    """The order to end may come before there is anybody to give it to."""
    kind = app.job(on_top, name="on-top", isolated=True)
    kind.submit()
    [lease] = claim(app.store, enrol(app.store), "on-top")
    attempt = Attempt(lease, kind.handler, clock.uptime())
    assert attempt.begin()
    assert attempt.lose()
    assert parent.run(attempt, Silence(), url) == ChildCrash(began=False)


def test_a_process_that_never_calls_its_handler_times_out_too(app, url):
    kind = app.job(on_top, name="on-top", isolated=True, timeout=5)
    kind.submit()
    [lease] = claim(app.store, enrol(app.store), "on-top")
    attempt = Attempt(lease, kind.handler, clock.uptime())
    assert attempt.begin()
    assert attempt.lose()  # so that its process ends at once
    before, allowed = clock.uptime(), clock.microseconds(ISOLATED_START_SECONDS + 5)
    parent.run(attempt, Silence(), url)
    assert before + allowed <= (attempt.limit_at or 0) <= clock.uptime() + allowed


def on_top():
    """Waits for ever; only its guard can end it."""
    threading.Event().wait()


class Silence(CommitChannel):
    """A connection on which nothing is sent."""

    cancelled = False
    interrupted = False
    lost = True
    stopping = False

    def commit(self, item, reply):
        raise NotImplementedError

    transact = commit

    def inputs(self):
        return {}

    def report_progress(self, progress):
        return None


def test_s16_what_is_registered_as_secret_in_the_worker_is_hidden_in_the_child_too(app, workers):
    workers.start(environment={"WORKSHOP_SECRET": "correct-horse-battery"})
    job = app.submit("apart", {"act": "login"}).wait(timeout=60)
    assert job.failure is not None
    assert job.failure["message"].startswith("Permanent: cannot log in with [REDACTED:")


DECLARATIONS = """
from leasehold import Leasehold

app = Leasehold()


@app.job(isolated=True)
def follow(number: int):
    return number


@app.job(isolated=True)
def square(number: int):
    return app.submit(follow, {"number": number * number}).id
"""
MAIN = """
job = square.submit({"number": 7})
app.drain(timeout=60)
print(job.status, job.failure and job.failure["error_class"])
"""


def run_script(folder, url, text):
    path = folder / "shop.py"
    path.write_text(text)
    environment = {**os.environ, "LEASEHOLD_URL": url}
    command = [sys.executable, "-P", str(path)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_script_whose_submit_is_not_guarded_submits_once_and_the_console_shows_why(app, tmp_path, url):
    done = run_script(tmp_path, url, DECLARATIONS + MAIN)
    assert (done.returncode, done.stdout.split()) == (0, ["ERROR", "MISUSE"]), done.stderr
    assert "submit under `if __name__ == '__main__':`" in done.stderr
    assert [job.kind for job in app.jobs()] == ["square"]


def test_an_isolated_handler_may_submit(app, tmp_path, url):
    done = run_script(tmp_path, url, f"{DECLARATIONS}if __name__ == '__main__':{indent(MAIN, '    ')}")
    assert (done.returncode, done.stdout.split()) == (0, ["DONE", "None"]), done.stderr
    assert sorted((job.kind, job.status) for job in app.jobs()) == [("follow", "DONE"), ("square", "DONE")]
