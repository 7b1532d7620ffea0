"""Seeded worlds: the engine's parts interleaved at every transaction, with faults, judged by the oracle.

A failing seed prints the shortest schedule found and the lines to add to `test_regressions.py`.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.lab.proof import record
from tests.simulation.run import Report, plan_of, simulate
from tests.simulation.sessions import File
from tests.simulation.shrink import shrink

CHUNK = 250
IN_TEST = 20_000
IN_SOAK = 1_000_000


def explain(file: File, report: Report) -> str:
    """Tell how a run failed, as simply as it can be told."""
    first = report.problems[0].partition(" ")[0]

    def fails(script: list[int]) -> bool:
        found = simulate(file, report.seed, script, report.plan).problems
        return any(problem.startswith(first) for problem in found)

    script = shrink(report.choices, fails)
    again = simulate(file, report.seed, script, report.plan)
    lines = [
        f"seed {report.seed}: {report.plan}",
        *(again.problems or report.problems),
        f"with {sum(map(bool, script))} choices that are not zero:",
        *(f"  {at} {who}: {what}" for at, who, what in again.trace),
        f"Keep it: simulate(file, {report.seed}, {script}, {report.plan})",
    ]
    return "\n".join(lines)


def check_seeds(file: File, first: int, count: int) -> None:
    started, steps, faults = time.process_time(), 0, Counter[str]()
    for seed in range(first, first + count):
        report = simulate(file, seed)
        assert not report.problems, explain(file, report)
        steps += report.steps
        faults.update(report.faults)
    seconds = time.process_time() - started
    told = {"first": first, "last": first + count - 1, "runs": count, "bad": 0}
    record("seeds", **told, steps=steps, faults=faults, seconds=round(seconds, 1))


@pytest.mark.parametrize("first", range(0, IN_TEST, CHUNK))
def test_no_schedule_breaks_a_promise(file, first):
    """S1–S7, S10–S14 and L1, after every kind of fault at every kind of point."""
    check_seeds(file, first, CHUNK)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, IN_SOAK, 10_000))
def test_no_schedule_of_a_million_breaks_a_promise(file, first):
    check_seeds(file, first, 10_000)


def test_every_kind_of_fault_and_job_comes_up(file):
    """A simulation in which nothing goes wrong would prove nothing."""
    faults: dict[str, int] = {}
    kinds = set()
    for seed in range(150):
        report = simulate(file, seed)
        kinds |= {kind for kind, _ in report.plan.jobs}
        for name, count in report.faults.items():
            faults[name] = faults.get(name, 0) + count
    assert len(faults) == 9
    assert min(faults.values()) >= 10
    assert len(kinds) == 11


SAME = """
import sys
import time
from collections import Counter
from pathlib import Path
from tests.simulation.run import simulate
from tests.simulation.sessions import File
file = File(Path(sys.argv[1]) / "world.db")
print([(r.choices, r.trace, r.steps, r.problems) for r in (simulate(file, seed) for seed in range(20))])
"""


def test_a_seed_is_the_same_run_in_another_process_with_another_hash_seed(tmp_path):
    def run(number: int) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "PYTHONPATH": str(Path.cwd())}
        return subprocess.run(
            [sys.executable, "-c", SAME, str(folder)], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run(1) == run(2)


def test_a_run_is_repeated_exactly_from_its_choices(file):
    report = simulate(file, 4)
    assert report.faults
    again = simulate(file, 4, report.choices, plan_of(4))
    assert (again.trace, again.steps, again.choices) == (report.trace, report.steps, report.choices)


def test_a_failing_run_is_made_as_simple_as_it_can_be():
    def fails(script):
        return sum(script[:40]) >= 3 and any(script[30:])

    found = shrink([1, 2, 0] * 40, fails)
    assert fails(found)
    assert sum(map(bool, found)) <= 3
