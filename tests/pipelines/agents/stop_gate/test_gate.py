"""The gate: three fresh processes a fixture, all in agreement with the lock; anything less is found and named."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.contracts import contract
from leasehold.pipelines.agents.stop_gate.gate import FixtureFault, judge, run_gate
from leasehold.pipelines.agents.stop_gate.manifest import HASH_KEY, MetricName, manifest_hash, read_manifest
from leasehold.pipelines.agents.stop_gate.replays import ENVIRONMENTS, FixtureReplay, execute_in_process
from leasehold.pipelines.agents.stop_gate.report import markdown_report, metrics_report, summary_lines
from tests.pipelines.agents.stop_gate.gates import SHIPPED, in_this_process, small_manifest, write

METRICS = (
    "scheduler_dispatch_replay_determinism_pct",
    "orphan_lease_recovery_determinism_pct",
    "concurrent_budget_cancel_stability_pct",
)
WITNESS = """
import os, sys
if any("stop_gate.execution" in word for word in sys.orig_argv):
    with open(os.environ["WITNESS"], "a") as file:
        print(os.getpid(), os.environ["PYTHONHASHSEED"], os.environ["TZ"], os.environ["LC_ALL"], file=file)
"""


@pytest.fixture
def manifest(tmp_path):
    return small_manifest(tmp_path)


def gate(path, *words):
    return CliRunner().invoke(root, ["agents", "stop-gate", "--manifest", str(path), *words], prog_name="leasehold")


def checked(result):
    """Return a gate's report, which obeys its schema, after its texts for people were made too."""
    report = metrics_report(result)
    assert contract("stop_gate_metrics", 1).problems(report) == []
    assert report[HASH_KEY] in markdown_report(result)
    assert list(summary_lines(result))[-1] == ("passed" if result.has_passed else "not passed")
    return report


def test_s8_each_fixture_is_executed_in_three_fresh_processes_that_leave_the_locked_bytes(
    manifest, tmp_path, monkeypatch
):
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(WITNESS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    monkeypatch.setenv("WITNESS", str(tmp_path / "witness"))
    done = gate(manifest, "--out-json", str(tmp_path / "out.json"), "--out-md", str(tmp_path / "out.md"))
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_bytes())
    assert contract("stop_gate_metrics", 1).problems(report) == []
    assert report["metrics"] == dict.fromkeys(METRICS, 100.0)
    assert report[HASH_KEY] in (tmp_path / "out.md").read_text()
    assert str(tmp_path) not in (tmp_path / "out.json").read_text() + (tmp_path / "out.md").read_text()
    witnessed = [line.split(" ", 1) for line in (tmp_path / "witness").read_text().splitlines()]
    assert len({process for process, _ in witnessed}) == 9
    wanted = [" ".join(environment.variables().values()) for environment in ENVIRONMENTS]
    assert sorted(variables for _, variables in witnessed) == sorted(wanted * 3)


@pytest.mark.soak
def test_every_shipped_fixture_passes_the_gate():
    assert run_gate(read_manifest()).has_passed


def test_two_equal_replays_of_three_are_not_enough():
    lock = read_manifest().payload.metrics[MetricName.ORPHAN_LEASE][0]
    locked = {name.value: found for name, found in lock.artifacts.items()}
    same, other = FixtureReplay(locked), FixtureReplay({**locked, "events": "0" * 64})
    assert judge(lock, [same, same, same]) is None
    for replays in ([same, same, other], [same, other, same], [other, same, same]):
        assert judge(lock, replays) is FixtureFault.REPLAYS_DIFFER
    assert judge(lock, [other] * 3) is FixtureFault.LOCK_DIFFERS
    assert judge(lock, [same, same, FixtureReplay({}, "died")]) is FixtureFault.REPLAY_FAILED
    assert judge(lock, [same, same]) is FixtureFault.REPLAY_FAILED
    assert judge(lock, []) is FixtureFault.FIXTURE_CHANGED


def test_an_execution_that_depends_on_its_environment_fails_its_metric_alone(manifest):
    def execute(text, environment):
        left = in_this_process(text, environment)
        if environment == ENVIRONMENTS[2] and "tear" in text:
            return replace(left, artifacts={**left.artifacts, "tokens": "0" * 64})
        return left

    report = checked(run_gate(read_manifest(manifest), execute))
    assert report["metrics"] == dict(zip(METRICS, (100.0, 0.0, 100.0), strict=True))
    assert [each.get("fault") for each in report["fixtures"]] == [None, "replays_differ", None]
    assert report["all_passed"] is False


def test_a_fixture_that_was_changed_is_not_executed_and_does_not_pass(manifest):
    path = manifest.parent / "recovery/torn_last_line.json"
    path.write_text(path.read_text().replace("cut before", "not cut before"))
    executed = []

    def execute(text, environment):
        executed.append(text)
        return in_this_process(text, environment)

    report = checked(run_gate(read_manifest(manifest), execute))
    assert report["metrics"]["orphan_lease_recovery_determinism_pct"] == 0.0
    assert [each.get("fault") for each in report["fixtures"]] == [None, "fixture_changed", None]
    assert len(executed) == 6


def test_a_lock_of_other_bytes_does_not_pass(manifest):
    plain = json.loads(manifest.read_text())
    plain["metrics"][METRICS[2]][0]["artifacts"]["budget"] = "0" * 64
    report = checked(run_gate(read_manifest(write(manifest, plain)), in_this_process))
    assert report["metrics"] == dict(zip(METRICS, (100.0, 100.0, 0.0), strict=True))
    assert report["fixtures"][2]["fault"] == "lock_differs"


def test_a_manifest_that_is_not_the_one_its_hash_declares_voids_every_metric(manifest, tmp_path):
    plain = json.loads(manifest.read_text())
    declared = plain[HASH_KEY]
    plain["metrics"][METRICS[0]][0]["artifacts"]["events"] = "0" * 64
    manifest.write_text(json.dumps(plain))
    done = gate(manifest, "--out-json", str(tmp_path / "out.json"))
    report = json.loads((tmp_path / "out.json").read_bytes())
    assert done.exit_code == 1
    assert contract("stop_gate_metrics", 1).problems(report) == []
    assert (report["valid"], report["all_passed"], report["declared_manifest_hash"]) == (False, False, declared)
    assert report[HASH_KEY] == manifest_hash(plain) != declared
    assert report.keys().isdisjoint({"metrics", "passed", "fixtures"})
    checked(run_gate(read_manifest(manifest)))


def test_a_fixture_whose_children_end_otherwise_than_it_states_is_a_failed_replay():
    path = SHIPPED / "cancel/waiting_child.json"
    text = path.read_text().replace('"b": "URM_CHILD_CANCELLED"', '"b": "passed"')
    left = execute_in_process(text, ENVIRONMENTS[0])
    assert left.artifacts == {}
    assert "The children of a fixture did not end as the fixture states." in left.error


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain | {"schema": "stop_gate.vnext_plus9_manifest@2"},
        lambda plain: plain | {"threshold": 50.0},
        lambda plain: plain["metrics"].pop(METRICS[1]) and plain,
        lambda plain: plain["metrics"].update({METRICS[1]: []}) or plain,
        lambda plain: plain["metrics"].update({"other_pct": plain["metrics"][METRICS[1]]}) or plain,
        lambda plain: plain["metrics"][METRICS[1]].extend(plain["metrics"][METRICS[0]]) or plain,
        lambda plain: plain["metrics"][METRICS[1]][0].update(path="../torn_last_line.json") or plain,
        lambda plain: plain["metrics"][METRICS[1]][0].update(path="recovery/nothing.json") or plain,
        lambda plain: plain["metrics"][METRICS[1]][0].update(fixture_id="another") or plain,
        lambda plain: plain["metrics"][METRICS[1]][0]["artifacts"].pop("events") and plain,
        lambda plain: plain["metrics"][METRICS[1]][0].update(sha256="x") or plain,
    ],
)
def test_a_manifest_that_cannot_be_used_is_refused_before_anything_is_executed(manifest, change):
    write(manifest, change(json.loads(manifest.read_text())))
    done = gate(manifest)
    assert (done.exit_code, "URM_STOP_GATE_INPUT_INVALID" in done.output) == (2, True)


def test_files_that_are_no_manifest_or_no_fixture_or_cannot_be_written_are_refused(manifest, tmp_path):
    assert gate(tmp_path / "nothing.json").exit_code == 2
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    assert gate(tmp_path / "bad.json").exit_code == 2
    fixture = manifest.parent / "recovery/torn_last_line.json"
    fixture.write_text(fixture.read_text().replace('"tear"', '"rip"'))
    done = gate(manifest)
    assert done.exit_code == 2
    assert "rip" in done.output
    assert gate(small_manifest(tmp_path), "--out-md", str(tmp_path / "no" / "folder")).exit_code == 2
