"""Budgets of sessions with real children: running totals that no debit passes, and what follows the first refusal."""

import json
import sys
from collections import Counter
from pathlib import Path

from leasehold.pipelines.agents.child.git import git
from tests.pipelines.agents.coordinator.sessions import (
    FOREVER,
    PYTHON,
    result,
    run_plan,
    session,
    spec,
    talker,
    write_plan,
)
from tests.support.http.local_model import LocalModel
from tests.support.wait import until

# Three debits of one token, as fast as a shell prints them.
SPENDER = """for i in 1 2 3; do echo '{"type":"usage","tokens":1}'; done"""
EXCEEDED = "URM_CHILD_BUDGET_EXCEEDED"
SOLVER = """
import json, sys, z3
order = json.loads(sys.stdin.readline())
print(json.dumps({"type": "solver_call", "id": "pigeons"}), flush=True)
assert json.loads(sys.stdin.readline())["granted"]
solver = z3.Solver()
solver.set("rlimit", order["input"]["rlimit"])
holes = order["input"]["holes"]
pigeon = [[z3.Bool(f"{p}-{h}") for h in range(holes)] for p in range(holes + 1)]
solver.add([z3.Or(row) for row in pigeon])
solver.add([z3.Or(z3.Not(a[h]), z3.Not(b[h])) for h in range(holes) for a in pigeon for b in pigeon if a is not b])
print(json.dumps({"type": "result", "output": [str(solver.check()), solver.reason_unknown()]}), flush=True)
"""
ASKER = """
import json, sys, urllib.request
order = json.loads(sys.stdin.readline())["input"]
for _ in range(order["times"]):
    body = {"model": "smollm2", "max_tokens": 8, "messages": [{"role": "user", "content": "Hello"}]}
    request = urllib.request.Request(order["url"], json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer = json.load(urllib.request.urlopen(request))
    print(json.dumps({"type": "usage", "tokens": answer["usage"]["total_tokens"]}), flush=True)
"""


def test_s9_of_64_children_that_debit_a_lane_of_100_at_once_exactly_100_are_accepted(tmp_path, url):
    with session(tmp_path, url, cap=64, tokens=100) as opened:
        for number in range(64):
            opened.spawn(spec(f"c{number}", "sh", "-c", SPENDER), f"r{number}")
        opened.start()
        opened.wait_idle()
        snapshot = opened.snapshot()
    assert snapshot.lanes["tokens"].spent == sum(row.tokens for row in snapshot.rows) == 100
    found = Counter(row.code for row in snapshot.rows)
    assert set(found) == {None, EXCEEDED}
    assert all(row.tokens == 3 for row in snapshot.rows if row.code is None)


def test_the_first_debit_beyond_a_limit_ends_its_child_in_every_lane_and_is_on_record(tmp_path, url):
    path = write_plan(
        tmp_path,
        talker("calls", calls=3),
        talker("tokens", usage=[30, 30, 30]),
        {"name": "seconds", "command": (*PYTHON, FOREVER), "timeout": 20, "after": ["calls", "tokens"]},
        {"name": "late", "command": ("true",), "after": []},
        max_active_children=1,
        budget={"tokens": 70, "solver_calls": 2, "duration_secs": 5},
    )
    rows = run_plan(path, url)
    assert [(row.name, row.code) for row in rows.values()][:2] == [("calls", EXCEEDED), ("tokens", EXCEEDED)]
    assert (rows["calls"].solver_calls, rows["tokens"].tokens, rows["late"].code) == (2, 60, None)
    assert rows["seconds"].code == "URM_CHILD_PREREQUISITE_FAILED"
    with session(tmp_path, url, "second", duration_secs=1) as opened:
        opened.spawn(spec("seconds", *PYTHON, FOREVER, timeout=20), "r1", child_id="seconds")
        opened.spawn(spec("never", *PYTHON, FOREVER, timeout=20), "r2", child_id="never")
        opened.start()
        opened.wait_idle()
        states = {state.name: state for state in opened.children()}
        assert opened.snapshot().lanes["duration_secs"].spent == 1
    refused = {"budget_lane": "duration_secs", "amount": 1}
    assert {state.end["refused"]["budget_lane"] for state in states.values()} == {"duration_secs"}
    assert states["seconds"].end["refused"] == refused


def test_each_second_of_a_child_is_paid_while_it_runs(tmp_path):
    with session(tmp_path, "", duration_secs=2) as opened:
        opened.spawn(spec("seconds", *PYTHON, FOREVER, timeout=20), "r1")
        opened.start()
        until(lambda: opened.snapshot().is_over)
        assert opened.snapshot().lanes["duration_secs"].spent == 2
        (state,) = opened.children()
        assert state.code == EXCEEDED


def test_a_solver_with_a_resource_limit_is_granted_its_calls(tmp_path):
    solver = {"command": (sys.executable, "-c", SOLVER)}
    path = write_plan(
        tmp_path,
        {"name": "easy", "input": {"holes": 3, "rlimit": 10_000_000}, **solver},
        {"name": "hard", "input": {"holes": 9, "rlimit": 1_000}, **solver},
        budget={"solver_calls": 2},
    )
    rows = run_plan(path)
    assert [(row.code, row.solver_calls) for row in rows.values()] == [(None, 1), (None, 1)]
    assert result(tmp_path, "demo.easy")[0] == "unsat"
    status, why = result(tmp_path, "demo.hard")
    assert (status, why in ("canceled", "max. resource limit exceeded")) == ("unknown", True)


def test_tokens_of_a_local_model_are_counted_until_the_budget_is_spent(tmp_path):
    with LocalModel() as model:
        order = {"url": f"{model.base}/v1/chat/completions", "times": 50}
        asker = {"name": "asker", "command": (*PYTHON[:1], "-c", ASKER), "input": order}
        rows = run_plan(write_plan(tmp_path, asker, budget={"tokens": 60}))
    assert rows["asker"].code == EXCEEDED
    assert 0 < rows["asker"].tokens <= 60


def test_ten_children_with_work_trees_leave_ten_patches_and_the_repository_as_it_was(tmp_path):
    before = repository(tmp_path)
    children = [
        {
            "name": f"w{number}",
            "command": ("sh", "-c", f"echo {number} >> a.txt; echo new > f{number}"),
            "worktree": True,
        }
        for number in range(10)
    ]
    rows = run_plan(write_plan(tmp_path, *children, contract="open", max_active_children=4))
    assert {row.code for row in rows.values()} == {None}
    for number in range(10):
        patch = tmp_path / ".leasehold/agents/demo/children" / f"demo.w{number}" / "diff.patch"
        assert f"+{number}\n" in patch.read_text()
        git(tmp_path, "apply", "--check", str(patch))
    assert state(tmp_path) == before
    assert json.loads(patch.with_name("evidence.json").read_text())["schema"] == "leasehold.evidence@1"


def test_children_that_never_ran_leave_no_work_tree(tmp_path):
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    before = repository(tmp_path)
    children = [
        {"name": "broken", "command": ("./broken",), "worktree": True},
        {"name": "late", "command": ("true",), "worktree": True},
    ]
    rows = run_plan(write_plan(tmp_path, *children, max_active_children=1, budget={"duration_secs": 1}))
    assert [row.code for row in rows.values()] == ["URM_CHILD_NOT_STARTED", EXCEEDED]
    assert state(tmp_path) == before


def repository(folder: Path) -> str:
    """Make a repository of what is in a folder; return its state."""
    git(folder, "init", "--quiet")
    (folder / "a.txt").write_text("one\n")
    (folder / ".gitignore").write_text(".leasehold/\nleasehold.db*\nplan.toml\n")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "x")
    return state(folder)


def state(folder: Path) -> str:
    return git(folder, "status", "--porcelain") + git(folder, "worktree", "list")
