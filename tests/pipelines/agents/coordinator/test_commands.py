"""The commands, each in a process of its own, on both databases."""

import json
import signal

import pytest

from tests.pipelines.agents.child.children import is_alive
from tests.pipelines.agents.coordinator.sessions import FOREVER, PYTHON, write_plan
from tests.support.processes.fork_server import run_module, start_module
from tests.support.wait import until

# Waits until it is stopped, unless a file allows it to end.
PROGRAM = f"import os\nopen('pid', 'w').write(str(os.getpid()))\nif not os.path.exists('go'):\n    exec({FOREVER!r})"


def run(*words, code=0):
    done = run_module("leasehold", "agents", *map(str, words))
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_ctrl_c_leaves_a_session_that_the_next_run_explains_and_again_continues(tmp_path, url):
    two = {"name": "two", "command": ("true",), "after": ["one"]}
    path = write_plan(tmp_path, {"name": "one", "command": (*PYTHON, PROGRAM)}, two)
    pid = tmp_path / "pid"
    with (tmp_path / "output").open("w+b") as output:
        running = start_module("leasehold", "agents", "run", str(path), "--url", url, stdout=output)
        until(lambda: pid.exists() and pid.read_text())
        running.send_signal(signal.SIGINT)
        assert running.wait() == 130
    assert "--session demo --again" in (tmp_path / "output").read_text()
    assert not is_alive(int(pid.read_text()))
    assert "1 lost: one" in run("run", path, "--url", url, code=1)
    (tmp_path / "go").touch()
    assert "passed       two" in run("run", path, "--url", url, "--again")
    assert "nothing to do" in run("run", path, "--url", url)
    where = ("--folder", tmp_path, "--url", url)
    assert "3 dispatch tokens" in run("verify", *where)
    assert '"again_of":"demo.one"' in run("events", "demo", *where)
    assert "URM_SESSION_NOT_ACTIVE" in run("spawn", "demo", *where, "--", "true", code=4)
    assert '"already_terminal"' in run("cancel", "demo.two", *where)
    assert "URM_CHILD_STOPPED" in run("status", "demo", *where)
    (shown,) = [json.loads(line) for line in run("status", *where, "--json").splitlines()]
    assert shown["children"][0]["code"] == "URM_CHILD_STOPPED"


@pytest.mark.parametrize(
    ("child", "code"),
    [
        ({"name": "a", "command": ["true"], "timeot": 1}, "URM_PLAN_FIELD_UNKNOWN"),
        ({"name": "a", "command": ["true"], "after": ["a"]}, "URM_PLAN_CYCLE"),
        ({"name": "a", "command": ["no-such-program"]}, "URM_PLAN_COMMAND_MISSING"),
        ({"name": "a", "command": ["true"], "folder": "/"}, "URM_PLAN_FOLDER_OUTSIDE"),
        ({"name": "a", "command": ["true"], "input": {"prompt": "x" * 50_000_000}}, "URM_PLAN_TOO_LARGE"),
        ({"name": "a", "command": ["true", "\0"]}, "URM_PLAN_COMMAND_INVALID"),
        ({"name": "a", "command": ["true"], "worktree": True}, "URM_WORKTREE_REPOSITORY_MISSING"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plan_that_is_refused_starts_nothing_and_makes_no_database(tmp_path, child, code):
    path = write_plan(tmp_path, {"name": "first", "command": ["touch", "started"]}, child)
    assert f"error {code}" in run("run", path, code=2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.toml"]
