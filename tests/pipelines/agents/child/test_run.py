"""A child from its plan to its outcome: what it sent, what it printed, why it failed, and its evidence."""

import json
import signal
import sys

import pytest

from leasehold.pipelines.agents.child.git import git
from leasehold.pipelines.agents.child.process import ChildCommand, ChildNotStarted, ChildStarter, child_environment
from leasehold.pipelines.agents.child.protocol import input_line
from leasehold.pipelines.agents.child.run import ChildTask, ChildVerdict, run_child
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildCallbacks
from leasehold.pipelines.agents.child.worktree import Repository
from leasehold.pipelines.agents.plan import read_plan
from tests.pipelines.agents.child.children import python
from tests.pipelines.agents.child.test_worktree import commit

WAIT = "import signal\nwhile True: signal.pause()"


@pytest.fixture
def starter():
    with ChildStarter() as started:
        yield started


@pytest.fixture
def stop():
    request = StopRequest()
    yield request
    request.close()


def test_a_command_that_sends_no_result_has_its_output_as_the_result(starter, stop, tmp_path):
    outcome = run_child(starter, ChildTask(python("print('hello')"), tmp_path / "e"), ChildCallbacks(), stop)
    assert (outcome.verdict, outcome.output, outcome.reason) == (ChildVerdict.PASSED, "hello\n", "")
    assert outcome.evidence.stdout.bytes == 6


def test_the_output_of_a_command_is_capped_as_a_result_and_whole_as_evidence(starter, stop, tmp_path):
    task = ChildTask(python("print('some words\\n' * 100_000)"), tmp_path / "e")
    outcome = run_child(starter, task, ChildCallbacks(), stop)
    assert len(outcome.output) == 256 * 1024
    assert outcome.evidence.stdout.bytes == 1_100_001


@pytest.mark.parametrize(
    ("text", "reason"), [("raise SystemExit(3)", "exit code 3"), ("import os; os.kill(os.getpid(), 9)", "signal 9")]
)
def test_a_child_that_fails_has_its_reason(starter, stop, tmp_path, text, reason):
    outcome = run_child(starter, ChildTask(python(text), tmp_path / "e"), ChildCallbacks(), stop)
    assert (outcome.verdict, outcome.reason) == (ChildVerdict.FAILED, reason)


def test_a_transcript_with_an_error_fails_though_the_exit_code_is_0(starter, stop, tmp_path):
    events = [
        {"type": "system", "subtype": "init"},
        {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["it broke"]},
    ]
    text = f"for line in {[json.dumps(event) for event in events]!r}: print(line)"
    outcome = run_child(starter, ChildTask(python(text), tmp_path / "e"), ChildCallbacks(), stop)
    assert (outcome.verdict, outcome.reason, outcome.end.code) == (ChildVerdict.FAILED, "it broke", 0)


def test_a_lie_is_the_reason_of_a_stop(starter, stop, tmp_path):
    text = f'print(\'{{"type":"usage","tokens":-7}}\', flush=True)\n{WAIT}'
    outcome = run_child(starter, ChildTask(python(text), tmp_path / "e"), ChildCallbacks(), stop)
    assert outcome.verdict is ChildVerdict.STOPPED
    assert "-7" in outcome.reason
    assert "-7" in (tmp_path / "e" / "stdout.txt").read_text()


def test_a_lie_in_the_last_line_of_a_child_that_exits_is_not_missed(starter, stop, tmp_path):
    outcome = run_child(
        starter,
        ChildTask(python('print(\'{"type":"usage","tokens":-7}\', end=\'\')'), tmp_path / "e"),
        ChildCallbacks(),
        stop,
    )
    assert (outcome.verdict, outcome.end.stopped) == (ChildVerdict.STOPPED, StopReason.PROTOCOL)


def test_a_cancel_after_the_end_does_not_change_how_it_ended(starter, stop, tmp_path):
    outcome = run_child(starter, ChildTask(python("pass"), tmp_path / "e"), ChildCallbacks(), stop)
    stop.request(StopReason.CANCEL)
    assert (outcome.verdict, outcome.end.stopped) == (ChildVerdict.PASSED, None)


def test_s16_a_key_that_the_plan_allows_reaches_neither_evidence_nor_progress(starter, stop, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_KEY", "correct horse battery")
    text = (
        "import json, os\nkey = os.environ['SERVICE_KEY']\nprint(key)\n"
        "print(json.dumps({'type': 'progress', 'text': 'with ' + key}))"
    )
    command = python(text)
    command = ChildCommand(command.argv, command.folder, child_environment(["SERVICE_KEY"]))
    seen: list[str] = []
    outcome = run_child(starter, ChildTask(command, tmp_path / "e"), ChildCallbacks(on_progress=seen.append), stop)
    assert "horse" not in outcome.output + "".join(seen)
    assert seen[0].startswith("with ")


def test_evidence_is_published_though_a_callback_failed(starter, stop, tmp_path):
    def fail(tokens: int) -> bool:
        raise RuntimeError(f"no database for {tokens}")

    text = f'print(\'before\')\nprint(\'{{"type":"usage","tokens":7}}\', flush=True)\n{WAIT}'
    with pytest.raises(RuntimeError, match="no database for 7"):
        run_child(starter, ChildTask(python(text), tmp_path / "e"), ChildCallbacks(on_usage=fail), stop)
    assert (tmp_path / "e" / "stdout.txt").read_text().startswith("before\n")


def test_a_program_that_is_not_there_is_an_error_with_empty_evidence(starter, stop, tmp_path):
    with pytest.raises(ChildNotStarted):
        run_child(starter, ChildTask(ChildCommand(("gone",), tmp_path), tmp_path / "e"), ChildCallbacks(), stop)
    assert (tmp_path / "e" / "evidence.json").exists()


def test_three_children_of_a_plan_work_on_one_repository_and_leave_three_patches(starter, tmp_path):
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "--quiet")
    (top / "agent.py").write_text(
        "import json, sys\norder = json.loads(sys.stdin.readline())\n"
        "open('answer.txt', 'w').write(order['input']['prompt'])\n"
        "print(json.dumps({'type': 'result', 'output': order['child_id']}))\n"
    )
    commit(top)
    (top / "plan.toml").write_text(
        "".join(
            f'[[child]]\nname = "{name}"\ncommand = ["{sys.executable}", "agent.py"]\n'
            f'input = {{ prompt = "by {name}" }}\nworktree = true\n'
            for name in ("a", "b", "c")
        )
    )
    patches = {}
    for child in read_plan(top / "plan.toml").children:
        worktree = Repository.of(child.folder).add(tmp_path / "session" / child.name)
        command = ChildCommand(child.command, worktree.inside(child.folder), child_environment(child.env))
        task = ChildTask(command, tmp_path / "evidence" / child.name, input_line(child.name, child.input, {}))
        stop = StopRequest()
        outcome = run_child(starter, task, ChildCallbacks(), stop)
        stop.close()
        assert (outcome.verdict, outcome.output) == (ChildVerdict.PASSED, child.name)
        patches[child.name] = worktree.collect(tmp_path / f"{child.name}.patch").path.read_text()
        worktree.remove()
    assert all(f"+by {name}" in patch for name, patch in patches.items())
    assert git(top, "status", "--porcelain") == "?? plan.toml"


def test_a_child_that_is_stopped_keeps_what_it_had_printed(starter, stop, tmp_path):
    text = f'print(\'{{"type":"progress","text":"x"}}\', flush=True)\n{WAIT}'
    callbacks = ChildCallbacks(on_progress=lambda _: stop.request(StopReason.CANCEL))
    outcome = run_child(starter, ChildTask(python(text), tmp_path / "e"), callbacks, stop)
    assert (outcome.verdict, outcome.reason, outcome.end.code) == (ChildVerdict.STOPPED, "cancel", -signal.SIGTERM)
    assert outcome.evidence.stdout.bytes > 0
