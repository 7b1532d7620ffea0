"""A coordinator killed with SIGKILL at any seam: nothing of it lives, each child has one end, and another goes on."""

import json
import os
from collections import Counter

from leasehold.pipelines.agents.verify import verify
from tests.pipelines.agents.coordinator.sessions import PYTHON, session, spec, started
from tests.support.processes.fork_server import run_module
from tests.support.wait import until

MODULE = "tests.pipelines.agents.coordinator.killed_sessions"
SPENDER = """
import sys
print('{"type":"usage","tokens":1}', flush=True)
open(sys.argv[1]).read()
for _ in range(20):
    print('{"type":"usage","tokens":1}', flush=True)
"""
LOST = {"URM_SCHEDULER_LEASE_ORPHANED", "URM_CHILD_TERMINATED_ON_RESTART"}


def check_killed(folder, url, *steps):
    """Kill a coordinator at each step; check what is left when another has gone on with `again`."""
    done = run_module(MODULE, str(folder), url, *steps)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        found = json.loads(line)
        assert found["was_killed"], found
        ends = [end.split() for end in found["ends"]]
        passed = {name for name, code in ends if code == "passed"}
        cancelled = {name for name, code in ends if code == "URM_CHILD_CANCELLED"}
        assert passed | cancelled | {name for name, code in ends if "PREREQUISITE" in code} == {"a", "b", "c"}, found
        assert Counter(name for name, code in ends if code not in LOST) == dict.fromkeys("abc", 1), found
        assert (found["status"], found["open"], found["verified"]) == ("DONE", [], len(ends)), found
        assert 5 * len(passed) <= found["spent"] <= 5 * len(ends), found
    return len(done.stdout.splitlines())


def test_a_spawn_that_was_not_answered_is_there_once(tmp_path, url):
    assert check_killed(tmp_path, url, "child/insert", "child/insert+") == 2


def test_a_child_that_was_leased_but_not_started_by_its_coordinator_is_orphaned(tmp_path, url):
    check_killed(tmp_path, url, "token/lease", "token/lease+")


def test_when_the_job_of_a_child_was_made_but_not_held_it_is_cancelled(tmp_path, url):
    check_killed(tmp_path, url, "hold")


def test_a_child_that_was_started_but_its_process_is_not_ends_as_one_that_ran(tmp_path, url):
    check_killed(tmp_path, url, "child/assign", "child/assign+")


def test_s9_what_was_debited_but_not_counted_by_its_coordinator_stays_spent(tmp_path, url):
    check_killed(tmp_path, url, "spend")


def test_a_child_that_ended_but_not_recorded_is_terminated_by_the_recovery(tmp_path, url):
    check_killed(tmp_path, url, "token/terminate", "token/terminate+")


def test_s10_a_cancel_that_was_stored_is_named_by_the_end_that_the_recovery_writes(tmp_path, url):
    check_killed(tmp_path, url, "token/request_cancel", "token/request_cancel+")


def test_a_session_that_was_recovered_but_not_opened_is_opened_by_the_next(tmp_path, url):
    check_killed(tmp_path, url, "child/assign+>session/begin_recovery+", "token/lease+>session/insert")


def test_a_database_that_was_killed_while_a_child_spends_is_waited_for(private_postgres, tmp_path):
    server, go = private_postgres(), tmp_path / "go"
    os.mkfifo(go)
    with session(tmp_path, server.create_database(), tokens=100) as opened:
        opened.spawn(spec("one", *PYTHON, SPENDER, str(go)), "r1")
        started(opened, "one")
        until(lambda: opened.snapshot().rows[0].tokens == 1)
        server.kill()
        go.write_text("")
        server.start()
        opened.wait_idle()
        (row,) = opened.snapshot().rows
        assert (row.code, row.tokens) == (None, 21)
        assert verify(opened.state.records) == 1
        assert opened.leave()["status"] == "ended"
