"""The commands, each in a process of its own, on both databases."""

import json
import re
import shutil
import signal

import pytest
from click.testing import CliRunner

from leasehold.cli.options import ExitCode
from leasehold.cli.root import root
from leasehold.pipelines.agents import open_place
from leasehold.pipelines.agents.child.git import git
from leasehold.pipelines.agents.child.worktree import Repository
from leasehold.pipelines.agents.coordinator.leftovers import keep_lost_diffs
from tests.pipelines.agents.child.children import is_alive
from tests.pipelines.agents.coordinator.sessions import FOREVER, PYTHON, result, write_plan
from tests.support.db import rows
from tests.support.processes.fork_server import ROOT, run_module, start_module
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
    assert (tmp_path / ".leasehold").stat().st_mode & 0o077 == 0, "inputs and outputs are for nobody else"
    assert not is_alive(int(pid.read_text()))
    assert "1 lost: one" in run("run", path, "--url", url, code=1)
    where = ("--folder", tmp_path, "--url", url)
    assert "demo  without a coordinator: 1 stopped" in run("status", *where)
    (tmp_path / "go").touch()
    assert "passed       two" in run("run", path, "--url", url, "--again")
    assert "nothing to do" in run("run", path, "--url", url)
    assert "demo  ended: 1 stopped, 2 passed" in run("status", *where)
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


def test_the_example_runs_with_nothing_but_python(tmp_path):
    shutil.copytree(ROOT / "examples" / "agents", tmp_path / "agents")
    shown = run("run", tmp_path / "agents" / "plan.toml")
    assert "tokens 6 of 1,000" in shown
    assert result(tmp_path / "agents", "example.primes") == {"91": False, "97": True, "221": False, "223": True}


def test_of_a_lost_child_a_diff_that_was_kept_but_not_its_work_tree_removed_is_kept_again(tmp_path):
    """A coordinator is killed with its child at work; the next one keeps what the child had changed."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".gitignore").write_text(".leasehold/\npid\nplan.toml\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "x")
    program = (
        f"open('work', 'w').write('half done')\nimport os\nopen({str(tmp_path / 'pid')!r}, 'w').write('x')\n{FOREVER}"
    )
    path = write_plan(tmp_path, {"name": "one", "command": (*PYTHON, program), "worktree": True})
    running = start_module("leasehold", "agents", "run", str(path))
    until((tmp_path / "pid").exists)
    running.kill()
    running.wait()
    home = tmp_path / ".leasehold" / "agents" / "demo"
    assert "+half done" not in run("run", path, code=1)
    assert "+half done" in (home / "children" / "demo.one" / "diff.patch").read_text()
    assert list((home / "worktrees").iterdir()) == []
    with open_place(tmp_path) as place:
        Repository.of(tmp_path).add(home / "worktrees" / "demo.one")  # as if it had been killed before it was removed
        assert keep_lost_diffs(place, "demo") == [home / "children" / "demo.one" / "diff.patch"]
    assert git(tmp_path, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    "words",
    ["status", "events demo", "events summary demo", "report demo", "verify demo", "cancel demo.a", "spawn demo"],
)
def test_commands_about_a_folder_or_a_database_without_sessions_make_nothing(tmp_path, empty_url, words):
    command = [*words.split(), "--folder", str(tmp_path)]
    tail = ["--", "true"] if words.startswith("spawn") else []
    for where in ([], ["--url", empty_url]):
        refused = CliRunner().invoke(root, ["agents", *command, *where, *tail])
        assert refused.exit_code == ExitCode.MISUSE
        assert re.match("error (URM_PLACE_MISSING|SCHEMA_MISSING): ", refused.stderr), refused.stderr
    assert list(tmp_path.iterdir()) == []
    if empty_url.startswith("postgres"):
        assert rows(empty_url, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'leasehold%'") == []
