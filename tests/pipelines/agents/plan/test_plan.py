"""A plan is read whole, with its defaults, or refused with a code and the line before anything starts."""

import os
from pathlib import Path

import pytest
from msgspec import UNSET

from leasehold.pipelines.agents.plan import ChildBudget, PlanInvalid, read_plan

CHILD = '[[child]]\nname = "one"\ncommand = ["python3"]\n'


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "plan.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(folder: Path, text: str | bytes) -> PlanInvalid:
    with pytest.raises(PlanInvalid) as caught:
        read_plan(written(folder, text))
    return caught.value


def test_a_plan_is_read_with_every_field(tmp_path):
    (tmp_path / "inner").mkdir()
    plan = read_plan(
        written(
            tmp_path,
            """
            [session]
            id = "demo"
            max_active_children = 2
            budget = { tokens = 20000, solver_calls = 40, duration_secs = 300 }

            [[child]]
            name = "reader"
            command = ["python3", "child.py", "--fast"]

            [[child]]
            name = "parser"
            command = ["python3"]
            input = { prompt = "…", more = [1, 2.5, true] }
            after = ["reader"]
            timeout = 60
            worktree = true
            folder = "inner"
            env = ["OPENAI_API_KEY"]
            """,
        )
    )
    assert (plan.session.id, plan.session.max_active_children) == ("demo", 2)
    assert plan.session.budget == ChildBudget(20000, 40, 300)
    reader, parser = plan.children
    assert reader.command == ("python3", "child.py", "--fast")
    assert (reader.input, reader.timeout, reader.folder) == (UNSET, None, tmp_path.resolve())
    assert parser.input == {"prompt": "…", "more": [1, 2.5, True]}
    assert (parser.after, parser.timeout, parser.worktree, parser.env) == (("reader",), 60.0, True, ("OPENAI_API_KEY",))
    assert parser.folder == (tmp_path / "inner").resolve()


def test_a_short_plan_gets_the_defaults_of_the_locked_contract(tmp_path):
    plan = read_plan(written(tmp_path, CHILD))
    assert (plan.session.id, plan.session.contract, plan.session.max_active_children) == (None, "locked", 2)
    assert plan.session.budget.plain() == {}


def test_an_open_contract_may_have_any_number_of_active_children(tmp_path):
    text = f'[session]\ncontract = "open"\nmax_active_children = 500\n{CHILD}'
    assert read_plan(written(tmp_path, text)).session.max_active_children == 500
    refused = refusal(tmp_path, f"[session]\nmax_active_children = 3\n{CHILD}")
    assert refused.code == "URM_PLAN_VALUE_INVALID"
    assert 'contract = "open"' in refused.detail


def child(fields: str) -> str:
    return f'[[child]]\nname = "one"\n{fields}\n'


REFUSED = {
    "no toml": ("x = = 1", "URM_PLAN_INVALID", "line 1"),
    "number of 5,000 digits": (f"x = {'9' * 5000}", "URM_PLAN_INVALID", "digits"),
    "list of 9,000 levels": (f"x = {'[' * 9000}", "URM_PLAN_INVALID", "recursion"),
    "nothing to run": ('[session]\nid = "a"\n', "URM_PLAN_FIELD_MISSING", "[[child]]"),
    "unknown table": (f"{CHILD}\n[sesion]\n", "URM_PLAN_FIELD_UNKNOWN", "Line 5: 'sesion'. Did you mean 'session'?"),
    "unknown field": (f"{CHILD}\ntimeot = 3\n", "URM_PLAN_FIELD_UNKNOWN", "Line 5: 'timeot'. Did you mean 'timeout'?"),
    "unknown lane": ("[session]\n[session.budget]\ntoken = 3\n" + CHILD, "URM_PLAN_FIELD_UNKNOWN", "Line 3: 'token'"),
    "internal field": (child("line = 3"), "URM_PLAN_FIELD_UNKNOWN", "Line 3: 'line'"),
    "no command": ('[[child]]\nname = "one"\n', "URM_PLAN_FIELD_MISSING", "Line 1: 'command'"),
    "one child": ('[child]\nname = "one"\n', "URM_PLAN_VALUE_INVALID", "write [[child]]"),
    "shell line": (child('command = "python3 -c x"'), "URM_PLAN_COMMAND_INVALID", '["python3", "-c", "x"]'),
    "empty command": (child("command = []"), "URM_PLAN_COMMAND_INVALID", "Line 3"),
    "empty program": (child('command = [""]'), "URM_PLAN_COMMAND_INVALID", "Line 3"),
    "number in command": (child('command = ["ls", 3]'), "URM_PLAN_COMMAND_INVALID", "Line 3"),
    "NUL in command": (child('command = ["ls", "a\\u0000b"]'), "URM_PLAN_COMMAND_INVALID", "NUL"),
    "long argument": (child(f'command = ["ls", "{"x" * 70_000}"]'), "URM_PLAN_COMMAND_INVALID", "input"),
    "no program": (child('command = ["no-such-program-here"]'), "URM_PLAN_COMMAND_MISSING", "not on PATH"),
    "no file": (child('command = ["./run.sh"]'), "URM_PLAN_COMMAND_MISSING", "Line 3"),
    "twice": (CHILD + CHILD, "URM_PLAN_NAME_TWICE", "Line 5: 'one', first on line 1"),
    "bad name": ('[[child]]\nname = "../x"\ncommand = ["ls"]\n', "URM_PLAN_NAME_INVALID", "Line 2"),
    "unknown after": (CHILD + 'after = ["ono"]\n', "URM_PLAN_NAME_UNKNOWN", "Line 4: 'ono'. Did you mean 'one'?"),
    "same after": (CHILD + 'after = ["a", "a"]\n', "URM_PLAN_NAME_TWICE", "Line 4"),
    "itself": (CHILD + 'after = ["one"]\n', "URM_PLAN_CYCLE", "one waits for one"),
    "outside": (CHILD + 'folder = ".."\n', "URM_PLAN_FOLDER_OUTSIDE", "Line 4: '..' is outside it"),
    "absolute": (CHILD + 'folder = "/"\n', "URM_PLAN_FOLDER_OUTSIDE", "Line 4"),
    "no folder": (CHILD + 'folder = "gone"\n', "URM_PLAN_FOLDER_OUTSIDE", "is not a folder"),
    "NUL in folder": (CHILD + 'folder = "a\\u0000b"\n', "URM_PLAN_VALUE_INVALID", "NUL"),
    "NUL in input": (CHILD + 'input = { prompt = "a\\u0000b" }\n', "URM_PLAN_INPUT_INVALID", "Line 4"),
    "date in input": (CHILD + "input = { day = 2026-01-01 }\n", "URM_PLAN_INPUT_INVALID", "$.day"),
    "nan in input": (CHILD + "input = nan\n", "URM_PLAN_INPUT_INVALID", "Line 4"),
    "text as timeout": (CHILD + 'timeout = "60"\n', "URM_PLAN_VALUE_INVALID", "Line 4"),
    "true as timeout": (CHILD + "timeout = true\n", "URM_PLAN_VALUE_INVALID", "Line 4"),
    "endless timeout": (CHILD + "timeout = inf\n", "URM_PLAN_VALUE_INVALID", "Line 4"),
    "no timeout": (CHILD + "timeout = 0\n", "URM_PLAN_VALUE_INVALID", "Line 4"),
    "number as worktree": (CHILD + "worktree = 1\n", "URM_PLAN_VALUE_INVALID", "not true or false"),
    "value in env": (CHILD + 'env = ["A=b"]\n', "URM_PLAN_VALUE_INVALID", "Line 4"),
    "unknown contract": (f'[session]\ncontract = "opn"\n{CHILD}', "URM_PLAN_VALUE_INVALID", "Did you mean 'open'?"),
    "true as number": (f"[session]\nmax_active_children = true\n{CHILD}", "URM_PLAN_VALUE_INVALID", "Line 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_is_refused_with_a_code_and_its_line(tmp_path, case):
    text, code, part = REFUSED[case]
    refused = refusal(tmp_path, text)
    assert (refused.code, part in str(refused)) == (code, True), str(refused)


@pytest.mark.parametrize("amount", ["-1", "1.5", "true", "10000000000000000", "99999999999999999999", "nan", '"7"'])
@pytest.mark.parametrize("lane", ["tokens", "solver_calls", "duration_secs"])
def test_a_budget_that_is_no_whole_number_within_limits_is_refused(tmp_path, lane, amount):
    refused = refusal(tmp_path, f"[session]\nbudget = {{ {lane} = {amount} }}\n{CHILD}")
    assert refused.code == "URM_PLAN_BUDGET_INVALID"
    assert f"Line 2: '{lane}'" in refused.detail


def test_a_cycle_is_named(tmp_path):
    parts = [("a", "c"), ("b", "a"), ("c", "b"), ("d", "a")]
    text = "".join(f'[[child]]\nname = "{name}"\ncommand = ["ls"]\nafter = ["{after}"]\n' for name, after in parts)
    refused = refusal(tmp_path, text)
    assert refused.code == "URM_PLAN_CYCLE"
    sentence = refused.detail.partition(": Line ")[2]
    assert any(f"{x} waits for {y}" in sentence for x, y in parts[:3])
    assert "d waits" not in sentence


def test_a_prompt_above_its_limit_and_a_file_of_50_megabytes_are_refused(tmp_path):
    refused = refusal(tmp_path, f'{CHILD}input = {{ prompt = "{"x" * 1_100_000}" }}\n')
    assert (refused.code, "Line 4" in refused.detail) == ("URM_PLAN_INPUT_TOO_LARGE", True)
    huge = refusal(tmp_path, f'{CHILD}input = {{ prompt = "{"x" * 50_000_000}" }}\n')
    assert huge.code == "URM_PLAN_TOO_LARGE"


def test_a_plan_that_is_not_utf_8_is_refused_with_its_line(tmp_path):
    refused = refusal(tmp_path, CHILD.encode() + b'input = "\xff"\n')
    assert (refused.code, "Line 4" in refused.detail) == ("URM_PLAN_NOT_UTF8", True)


def test_a_plan_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(PlanInvalid) as caught:
        read_plan(tmp_path / "gone.toml")
    assert caught.value.code == "URM_PLAN_MISSING"


def test_a_link_that_leads_out_of_the_plans_folder_is_refused(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "way").symlink_to(tmp_path)
    assert refusal(home, CHILD + 'folder = "way"\n').code == "URM_PLAN_FOLDER_OUTSIDE"


def test_a_program_in_the_childs_folder_is_found_when_it_is_executable(tmp_path):
    program = tmp_path / "run.sh"
    program.write_text("#!/bin/sh\n")
    refused = refusal(tmp_path, child('command = ["run.sh"]'))
    assert "'./run.sh'" in refused.detail
    assert refusal(tmp_path, child('command = ["./run.sh"]')).code == "URM_PLAN_COMMAND_MISSING"
    program.chmod(0o755)
    plan = read_plan(written(tmp_path, child('command = ["./run.sh"]')))
    assert os.access(plan.children[0].folder / plan.children[0].command[0], os.X_OK)
