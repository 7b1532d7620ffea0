"""Budgets and linked jobs on the command line: `submit --budget`, the tree of `show`, `cancel --request`."""

import json

import pytest

from leasehold.cli.options import ExitCode


@pytest.fixture
def tree(app, command):
    """A session that has spent, with two jobs below it, one of which has a child."""

    @app.job
    def leaf(task):
        task.spend("tokens", 1_000)

    @app.job
    def branch(task):
        task.submit(leaf, key="leaf")

    @app.job
    def session(task):
        task.spend("tokens", 40)
        task.submit(branch, key="first")
        task.submit(leaf, key="second", delay=3600)

    app.migrate()
    options = ("--key", "demo", "--budget", "tokens=20000", "--budget", "calls=3")
    job = app.get(int(command("submit", "session", *options).stdout))
    app.drain(timeout=60, wait_for_due=False)
    return job


def test_a_budget_is_given_on_the_command_line(tree):
    assert {name: (one.limit, one.spent) for name, one in tree.budget.items()} == {
        "calls": (3, 0),
        "tokens": (20_000, 1_040),
    }


@pytest.mark.parametrize("wrong", ["tokens", "tokens=", "tokens=many", "tokens=-1", "=5", "Tokens=5"])
def test_a_budget_that_is_none_is_refused(app, command, wrong):
    refused = command("submit", "greet", '{"name": "Ada"}', "--budget", wrong)
    assert refused.exit_code == ExitCode.MISUSE
    assert app.jobs() == []


def test_show_prints_budgets_and_the_tree(tree, command):
    shown = command("show", tree.id).stdout.splitlines()
    assert "  budget     calls: 0 of 3 spent" in shown
    assert "  budget     tokens: 1,040 of 20,000 spent" in shown
    head = next(number for number, line in enumerate(shown) if line.split()[:2] == ["JOB", "STATUS"])
    first, second = tree.children
    [leaf] = first.children
    assert [line.split()[:3] for line in shown[head + 1 : head + 5]] == [
        [str(tree.id), "DONE", "session"],
        [str(first.id), "DONE", "branch"],
        [str(leaf.id), "DONE", "leaf"],
        [str(second.id), "NEW", "leaf"],
    ]
    assert shown[head + 1].endswith("40 tokens")
    assert shown[head + 3].endswith("1,000 tokens")
    below = command("show", leaf.id).stdout
    assert f"  parent     job {first.id}\n" in below
    assert f"tokens: 1,040 of 20,000 spent, of job {tree.id}\n" in below


def test_programs_get_budget_and_tree_as_json(tree, command):
    found = json.loads(command("show", tree.id, "--json").stdout)
    assert found["budget"]["tokens"] == {"limit": 20_000, "spent": 1_040, "left": 18_960}
    assert (found["parent"], found["root"]) == (None, tree.id)
    assert [(job["depth"], job["spent"]) for job in found["tree"]] == [
        (0, {"tokens": 40}),
        (1, {}),
        (2, {"tokens": 1_000}),
        (1, {}),
    ]


def test_a_cancel_names_its_request_in_what_it_ends_below_a_job_that_is_over(tree, command):
    late = command("cancel", tree.id, "--reason", "enough", "--request", "request-7")
    assert (late.exit_code, "had already ended DONE" in late.stderr) == (ExitCode.CHECK_FAILED, True)
    second = tree.children[1]
    assert (second.status, second.failure["context"]["cancel_request"]) == ("CANCELLED", "request-7")
