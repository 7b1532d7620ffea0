"""What is reported of the gate: `stop_gate_metrics@1`, and the same as Markdown for people.

No time and no path is in it: the same fixtures give the same bytes.
"""

from collections.abc import Iterator
from typing import Any, Final

from leasehold.pipelines.agents.stop_gate.gate import THRESHOLD, FixtureResult, GateResult
from leasehold.pipelines.agents.stop_gate.manifest import HASH_KEY, MetricName
from leasehold.pipelines.agents.stop_gate.replays import ENVIRONMENTS, REPLAY_COUNT, FixtureReplay, ReplayEnvironment

SCHEMA: Final = "stop_gate_metrics@1"


def metrics_report(gate: GateResult) -> dict[str, Any]:
    """Return `stop_gate_metrics@1`; with a manifest that is not sound it has no metrics."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "valid": gate.manifest.is_sound,
        "all_passed": gate.has_passed,
        HASH_KEY: gate.manifest.found_hash,
        "declared_manifest_hash": gate.manifest.payload.vnext_plus9_manifest_hash,
        "replay_count": REPLAY_COUNT,
        "thresholds": {metric.value: THRESHOLD for metric in MetricName},
    }
    if gate.manifest.is_sound:
        metrics = gate.metrics()
        found["metrics"] = {metric.value: share for metric, share in metrics.items()}
        found["passed"] = {metric.value: share == THRESHOLD for metric, share in metrics.items()}
        found["fixtures"] = [_fixture(result) for result in gate.results]
    return found


def _fixture(result: FixtureResult) -> dict[str, Any]:
    replays = [_replay(*each) for each in zip(ENVIRONMENTS, result.replays, strict=False)]
    found = {"metric": result.metric.value, "fixture_id": result.lock.fixture_id, "passed": result.fault is None}
    return {**found, "replays": replays} | ({"fault": result.fault.value} if result.fault else {})


def _replay(environment: ReplayEnvironment, replay: FixtureReplay) -> dict[str, Any]:
    left = {"error": replay.error} if replay.error else {"artifacts": dict(replay.artifacts)}
    return environment.variables() | left


def markdown_report(gate: GateResult) -> str:
    """Return the report as a page of Markdown."""
    return "\n".join(_page(gate)) + "\n"


def summary_lines(gate: GateResult) -> Iterator[str]:
    """Yield what came of the gate, for a terminal."""
    if not gate.manifest.is_sound:
        declared = gate.manifest.payload.vnext_plus9_manifest_hash
        yield f"void: the manifest declares {declared}, and its hash is {gate.manifest.found_hash}"
    for metric, share in gate.metrics().items():
        faults = [result.fault for result in gate.results if result.metric is metric]
        yield f"{share:6.1f} %  {metric}  {faults.count(None)} of {len(faults)}"
    for result in gate.results:
        if result.fault:
            yield f"failed  {result.lock.fixture_id}  {_reason(result)}"
    yield "passed" if gate.has_passed else "not passed"


def _page(gate: GateResult) -> Iterator[str]:
    yield from ("# Stop gate", "")
    verdict = "passed" if gate.has_passed else "not passed" if gate.manifest.is_sound else "void"
    yield from (f"**{verdict}**, `{HASH_KEY}` `{gate.manifest.found_hash}`", "")
    if not gate.manifest.is_sound:
        yield f"The manifest declares `{gate.manifest.payload.vnext_plus9_manifest_hash}`. No metric has a value."
        return
    yield from ("| metric | found | threshold | passed |", "| --- | --- | --- | --- |")
    for metric, share in gate.metrics().items():
        yield f"| `{metric}` | {share:.1f} | {THRESHOLD:.1f} | {'yes' if share == THRESHOLD else 'no'} |"
    yield from ("", f"Each fixture was executed {REPLAY_COUNT} times.", "")
    yield from ("| fixture | metric | passed |", "| --- | --- | --- |")
    for result in gate.results:
        yield f"| `{result.lock.fixture_id}` | `{result.metric}` | {_reason(result) or 'yes'} |"


def _reason(result: FixtureResult) -> str:
    errors = [replay.error for replay in result.replays if replay.error]
    return ": ".join([str(result.fault), *errors[:1]]) if result.fault else ""
