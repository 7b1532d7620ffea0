"""Every point of every scenario, crashed; and in the soak every two of them."""

import time

import pytest

from tests.simulation.run import KINDS, LATER, TREES, simulate
from tests.simulation.scenarios import SCENARIOS
from tests.support.oracle.proof_report import record

NAMES = sorted(SCENARIOS)


def steps_of(file, name: str) -> int:
    report = simulate(file, 0, [], SCENARIOS[name])
    assert not report.problems, report.problems
    return report.steps


@pytest.mark.parametrize("name", NAMES)
def test_a_crash_at_any_point_breaks_no_promise(file, name):
    for step in range(1, steps_of(file, name) + 1):
        report = simulate(file, 0, [], SCENARIOS[name], [step])
        assert not report.problems, f"crash at step {step}: {report.trace}: {report.problems}"


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_crashes_at_any_two_points_break_no_promise(file, name):
    started, pairs, bad = time.process_time(), 0, []
    singles = steps_of(file, name)
    for first in range(1, singles + 1):
        after = simulate(file, 0, [], SCENARIOS[name], [first]).steps
        for second in range(first + 1, after + 1):
            report = simulate(file, 0, [], SCENARIOS[name], [first, second])
            bad += [(first, second, report.trace, report.problems)] if report.problems else []
            pairs += 1
    seconds = round(time.process_time() - started, 1)
    record("points", name=name, singles=singles, pairs=pairs, bad=len(bad), seconds=seconds)
    assert not bad, f"{len(bad)} of {pairs} pairs are bad; the first: crashes at {bad[0]}"


def test_there_are_enough_scenarios_of_every_sort():
    kinds = {kind for plan in SCENARIOS.values() for kind, _ in plan.jobs}
    assert len(SCENARIOS) >= 30
    assert kinds == {*KINDS, *LATER, *TREES}
    assert any(plan.cancels is not None for plan in SCENARIOS.values())
    assert any(plan.prunes for plan in SCENARIOS.values())
    assert any(plan.from_start for plan in SCENARIOS.values())
