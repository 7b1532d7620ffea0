"""Plans that are run to their end in this process, on both databases."""

import json

from leasehold.pipelines.agents.tokens import export_tokens
from tests.pipelines.agents.coordinator.sessions import PYTHON, result, run_plan, session, spec, talker, write_plan


def test_a_plan_is_run_in_order_and_every_end_is_on_record(tmp_path, url):
    (tmp_path / "plans").mkdir()
    path = write_plan(
        tmp_path / "plans",
        talker("one", usage=[12, 30], calls=2),
        {"name": "two", "command": (*PYTHON, "print('hello'); raise SystemExit(3)")},
        {"name": "three", "command": (*PYTHON, "print('after one')"), "after": ["one"]},
        {"name": "killed", "command": (*PYTHON, "import os; os.kill(os.getpid(), 9)")},
        {"name": "four", "command": ("true",), "after": ["two", "three"]},
        {"name": "five", "command": ("true",), "after": ["four"]},
        budget={"tokens": 100, "solver_calls": 5},
    )
    rows = run_plan(path, url)
    assert {name: (row.status, row.code) for name, row in rows.items()} == {
        "one": ("passed", None),
        "two": ("exit code 3", "URM_CHILD_FAILED"),
        "three": ("passed", None),
        "killed": ("signal 9", "URM_CHILD_FAILED"),
        "four": ("prerequisite_failed", "URM_CHILD_PREREQUISITE_FAILED"),
        "five": ("prerequisite_failed", "URM_CHILD_PREREQUISITE_FAILED"),
    }
    assert (rows["one"].tokens, rows["one"].solver_calls, rows["two"].tokens) == (42, 2, 0)
    answered = result(path.parent, "demo.one")
    assert answered["granted"] == [True, True]
    assert answered["budget"]["schema"] == "budget.v1"
    assert (answered["budget"]["solver_calls"], "duration_secs" in answered["budget"]) == (5, False)
    assert result(path.parent, "demo.three") == "after one\n"


def test_of_200_children_that_wait_the_first_come_is_the_first_served(tmp_path, url):
    with session(tmp_path, url, cap=8) as opened:
        names = [f"c{number:03}" for number in range(200)]
        for name in names:
            opened.spawn(spec(name, "true"), f"spawn-{name}", child_id=name)
        opened.start()
        opened.wait_idle()
        dispatched = export_tokens(opened.state.records, "demo").splitlines()  # in the order of dispatch
        assert [json.loads(line)["child_id"] for line in dispatched] == names
        assert opened.leave()["passed"] == 200
