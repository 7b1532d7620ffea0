"""Schedules worth keeping: each passes on the engine as it is and fails on the mutant that it is about.

To keep one more, take the lines that a failing seed prints under "To keep it", add them to KEPT and name the mutant of
`tests/mutants` that has the fault; for a fault that was found in the engine itself, write its fix backwards as a new
mutant there. A schedule belongs to its seed's plan and names points of the engine's parts, and both may change: then
the second test fails because the schedule no longer breaks its mutant, and this prints another one, from the seeds 0
to 1999:

    python -m tests.simulation.test_regressions "SQLite: settle without the fence" 0 2000
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, apply
from tests.mutants.mutants import MUTANTS
from tests.simulation.run import explain, explain_by, shorten, simulate
from tests.simulation.sessions import File
from tests.simulation.shrink import weigh
from tests.support.memory import folder_in_memory


@dataclass(frozen=True)
class Kept:
    """A schedule: the promise that it breaks in a mutant, the seed of its plan, and the choices that are not usual."""

    promise: str
    seed: int
    mutant: str
    choices: tuple[str, ...]


KEPT = (
    # A worker whose answer and heartbeat are slow settles what another attempt has claimed since.
    Kept("S2", 216, "SQLite: settle without the fence", (
        "fault 2 of w0.committer: slow call",
        "span 2 of w0.committer: 95",
        "fault 8 of w0.heartbeat: slow call",
        "span 8 of w0.heartbeat: 95",
    )),
    # The machine sleeps for longer than a lease, and what had ended before is written when it wakes.
    Kept("S2", 10, "SQLite: settle after the lease's end", (
        "fault 1 of w0.committer: machine asleep",
        "span 1 of w0.committer: 31",
    )),
    # A worker dies when it has acted and has not recorded it.
    Kept("S4", 96, "an intent without a result is acted upon again", (
        "fault 2 of w2.task 8#2: crash",
    )),
    # One worker's clock is an hour ahead.
    Kept("CLOCK", 3, "SQLite: the clock of the process that writes", (
        "clock 0 of w0.start: 3600",
    )),
    # A clock jumps ahead between a handler's work and its debit, and ends the lease.
    Kept("S9", 18, "a debit after the end of its lease", (
        "fault 6 of w1.committer: clock jump",
    )),
    # A provider took the message and its answer was lost: no other fault is needed.
    Kept("S14", 15, "sent again without a look", ()),
)  # fmt: skip


@contextmanager
def broken(name):
    """Make a copy of the engine in which a mutant's fault is, and yield how to ask something of it."""
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == name)
    with tempfile.TemporaryDirectory(dir=folder_in_memory()) as folder:
        shutil.copytree(ROOT / "src", Path(folder, "src"))  # with its bytecode, which is valid for all but one module
        apply(Path(folder), mutant)
        path = f"{folder}/src{os.pathsep}{ROOT}"
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

        def ask(*words):
            command = [sys.executable, "-m", "tests.simulation.test_regressions", *map(str, words)]
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)

        yield lambda *words: ask(*words).stdout


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.seed} {kept.promise} {kept.mutant}")
def test_a_schedule_that_was_kept_breaks_no_promise(file, kept):
    assert simulate(file, kept.seed, kept.choices).problems == []


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.seed} {kept.promise} {kept.mutant}")
def test_a_schedule_that_was_kept_breaks_the_mutant_it_is_about(kept):
    with broken(kept.mutant) as ask:
        assert kept.promise in json.loads(ask("breaks", KEPT.index(kept)))


def test_the_schedule_printed_for_a_mutant_has_no_more_faults_than_the_run_that_failed():
    with broken("SQLite: settle without the fence") as ask:
        printed = json.loads(ask("shorten", 200, 2_000))
    assert printed["breaks"] == "S2"
    assert printed["after"] < printed["before"]
    assert printed["after"][0] <= 4
    assert printed["after"][1] <= 20
    assert f'Kept("S2", {printed["seed"]}, ' in printed["text"]
    assert printed["text"].count("!! ") == printed["after"][0]
    assert " s  w0.claimer: " in printed["text"]
    assert "done: leases/settle" in printed["text"]


# What is asked of a copy.


def _first(file: File, first: int, last: int):
    """Return the first seed's report that fails."""
    return next(report for report in (simulate(file, seed) for seed in range(first, last)) if report.problems)


def _answer(file: File, word: str, *numbers: int) -> str:
    if word == "breaks":
        kept = KEPT[numbers[0]]
        return json.dumps(simulate(file, kept.seed, kept.choices).breaks)
    report = _first(file, *numbers)
    if word == "explain":
        return explain(file, report)
    short = shorten(file, report)
    printed = {"seed": report.seed, "breaks": report.breaks[0], "before": weigh(report.choices)}
    return json.dumps({**printed, "after": weigh(short.choices), "text": explain_by(short, report)})


def main(word: str, *numbers: str) -> str:
    """Answer a question about the engine imported here; or, for a mutant's name, about a copy with its fault."""
    if any(mutant.name == word for mutant in MUTANTS):
        with broken(word) as ask:
            return ask("explain", *numbers)
    with tempfile.TemporaryDirectory() as folder, closing(File(Path(folder) / "world.db")) as file:
        return _answer(file, word, *map(int, numbers))


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:]) + "\n")
