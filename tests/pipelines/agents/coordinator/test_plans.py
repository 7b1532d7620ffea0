"""Plans that are run to their end in this process, on both databases."""

import json

from leasehold.pipelines.agents.coordinator.plan_run import PlanRun
from leasehold.pipelines.agents.coordinator.snapshot import read_snapshot
from leasehold.pipelines.agents.place import open_place
from leasehold.pipelines.agents.plan import read_plan
from leasehold.pipelines.agents.specs import ChildSpec
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


def test_children_that_are_spawned_again_or_by_others_take_no_place_of_the_plan(tmp_path, url):
    after = {"command": (*PYTHON, "print('of the plan')"), "after": ["c"]}
    path = write_plan(tmp_path, {"name": "c", "command": ("true",)}, {"name": "c.2", **after}, {"name": "c.3", **after})
    with session(tmp_path, url) as opened:
        PlanRun(opened, read_plan(path)).advance()
        opened.spawn(spec("c.2", "true"), "by-another", child_id="by-another")
        opened.stop(is_complete=False)
    for _ in range(2):  # also once more: ids of lost children are never used again
        with session(tmp_path, url) as opened:
            assert PlanRun(opened, read_plan(path)).spawn_lost() == ["c"]
            opened.stop(is_complete=False)
    rows = run_plan(path, url, again=True)
    assert {name: row.status for name, row in rows.items()} == {"c": "passed", "c.2": "passed", "c.3": "passed"}
    assert result(tmp_path, "demo.c.2") == result(tmp_path, "demo.c.3") == "of the plan\n"
    with open_place(tmp_path, url) as place:
        final = [(row.name, row.status) for row in read_snapshot(place, "demo").final_rows]
    assert final == [("c.2", "stopped"), ("c", "passed"), ("c.2", "passed"), ("c.3", "passed")], "one name hides none"


def test_a_child_that_was_spawned_but_not_ended_for_its_failed_prerequisite_is_not_run_again(tmp_path):
    late = {"name": "late", "command": ("touch", "late"), "after": ["bad"]}
    path = write_plan(tmp_path, {"name": "bad", "command": ("false",)}, late)
    plan = read_plan(path)
    with session(tmp_path, "") as opened:
        PlanRun(opened, plan).advance()
        opened.start()
        opened.wait_idle()
        opened._end_loop()  # noqa: SLF001 — from here on nothing is dispatched, as if it had been killed
        opened.spawn(ChildSpec.of_plan(plan.children[1]), "demo.late", child_id="demo.late")
    assert run_plan(path, again=True)["late"].code == "URM_CHILD_PREREQUISITE_FAILED"
    assert not (tmp_path / "late").exists()
