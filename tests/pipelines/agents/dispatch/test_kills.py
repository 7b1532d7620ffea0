"""Coordinators and recoveries killed with SIGKILL at every statement and commit, followed by a recovery."""

import json
import subprocess
import sys
from collections import Counter


def killed(url, what):
    command = [sys.executable, "-m", "tests.pipelines.agents.dispatch.killed", url, what]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_ends(transcript):
    """Every child has one end on its own stream and one mirror of it."""
    events = [json.loads(line) for line in transcript.splitlines() if '"urm-events@1"' in line]
    children = {event["detail"]["child_id"] for event in events}
    ends = [event for event in events if event["event"] in ("WORKER_PASS", "WORKER_FAIL")]
    counted = Counter((event["detail"]["child_id"], event["stream_id"].partition(":")[0]) for event in ends)
    assert counted == {(child, stream): 1 for child in children for stream in ("child", "copilot")}


def test_a_coordinator_killed_at_any_step_of_its_dispatches_leaves_phases_that_match_their_events(url):
    runs = killed(url, "dispatch")
    assert [run["was_killed"] for run in runs] == [True] * (len(runs) - 1) + [False]
    assert len(runs) > 80
    assert {run["verified"] for run in runs} == {"sound"}
    assert {phase for run in runs for phase in run["phases"]} == {"terminal"}
    for run in runs:
        check_ends(run["transcript"])
    assert len({run["transcript"] for run in runs}) > 10


def test_s8_a_recovery_killed_at_any_step_and_run_again_ends_in_the_same_bytes(url):
    runs = killed(url, "recovery")
    assert [run["was_killed"] for run in runs] == [True] * (len(runs) - 1) + [False]
    assert len(runs) > 15
    assert {run["verified"] for run in runs} == {"sound"}
    assert len({run["transcript"] for run in runs}) == 1
    check_ends(runs[0]["transcript"])
