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

from tests.simulation.run import explain, plan_of, simulate
from tests.simulation.seeds import CHUNK, FIRST_SEED, IN_SOAK, IN_TEST, first_seed, first_seed_at
from tests.simulation.sessions import File
from tests.simulation.shrink import shrink
from tests.simulation.world import Fault
from tests.support.oracle.proof_report import record

FIRST = first_seed()


def check_seeds(file: File, first: int, count: int) -> None:
    """Run so many worlds, write down what they showed, and explain the first that broke a promise."""
    started, steps, faults, bad = time.process_time(), 0, Counter[str](), []
    for seed in range(first, first + count):
        report = simulate(file, seed)
        steps += report.steps
        faults.update(report.faults)
        bad += [report] if report.problems else []
    seconds = time.process_time() - started
    fields = {"first": first, "last": first + count - 1, "runs": count, "bad": len(bad)}
    record("seeds", **fields, steps=steps, faults=faults, seconds=round(seconds, 1))
    again = f"{FIRST_SEED}={first} repeats them at any commit"
    assert not bad, f"{len(bad)} of {count} seeds are bad ({again}); the first:\n{explain(file, bad[0])}"


def test_s14_a_message_that_is_under_way_when_clocks_are_put_right_is_sent_under_its_claim(file):
    """Both clocks were an hour behind, and nobody has written since: the claim was not ended by anybody."""
    assert simulate(file, 575_297).problems == []


@pytest.mark.parametrize("first", range(FIRST, FIRST + IN_TEST, CHUNK))
def test_no_schedule_breaks_a_promise(file, first):
    """S1–S14 and L1, after every kind of fault at every kind of point."""
    check_seeds(file, first, CHUNK)


def test_each_commit_runs_seeds_of_the_million_and_a_variable_repeats_them(monkeypatch):
    starts = {first_seed_at(f"{number:040x}") for number in range(1_000)}
    assert starts == set(range(0, IN_SOAK, IN_TEST))
    assert first_seed_at("") == 0
    monkeypatch.setenv(FIRST_SEED, "123456")
    assert first_seed() == 123_456


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
    assert set(faults) == set(Fault) - {Fault.NONE}
    assert min(faults.values()) >= 10
    assert len(kinds) == 14


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


def toy(needed):
    """A run that fails with any script that has all the needed lines; every line of a script comes up in it."""
    return lambda script: script if needed <= set(script) else None


def test_a_failing_run_is_made_as_simple_as_it_can_be():
    noise = [f"yield {number} of w0.upkeep: yes" for number in range(300)]
    faults = [f"fault {number} of w0.upkeep: crash" for number in range(40)]
    needed = {faults[7], noise[3], noise[250]}
    found = shrink(noise + faults, toy(needed))
    assert set(found) == needed


def test_fewer_faults_weigh_less_than_any_number_of_switches():
    switches = [f"yield {number} of w0.upkeep: yes" for number in range(30)]
    faults = ["fault 1 of w0.upkeep: crash", "wake 1 of w0.upkeep: wake-up lost", "clock 0 of w0.start: 3600"]

    def run(script):
        is_failing = set(switches) <= set(script) or set(faults) <= set(script)
        return script if is_failing else None

    assert shrink(switches + faults, run) == switches


def test_a_schedule_never_becomes_longer_than_the_run_that_failed():
    script = ["fault 1 of w0.upkeep: crash", "yield 1 of w0.upkeep: yes"]

    def run(tried):
        return [*script, "fault 2 of w0.upkeep: crash"]

    assert shrink(script, run) == script


def test_the_search_for_a_shorter_schedule_comes_to_an_end():
    tried: list[list[str]] = []
    script = [f"fault {number} of w0.upkeep: crash" for number in range(200)]
    shrink(script, tried.append, tries=50)
    assert len(tried) <= 50
    assert shrink(script, toy(set()), seconds=0) == script


def test_a_choice_that_is_left_out_does_not_change_what_the_others_mean(file):
    """What happened before the first choice that is left out is the same, and so is what was chosen."""
    report = simulate(file, 4)
    half = len(report.choices) // 2
    again = simulate(file, 4, report.choices[:half])
    assert again.choices == report.choices[:half]
