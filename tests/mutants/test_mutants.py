"""Every mutant still changes the source: a text that is no longer there would break nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutants import MUTANTS

SOURCE = Path(__file__).parents[2] / "src" / "leasehold"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_of_the_source(mutant):
    assert (SOURCE / mutant.file).read_text(encoding="utf-8").count(mutant.good) == 1
    assert mutant.good != mutant.bad


def test_there_are_at_least_thirty_mutants_with_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_tests_that_should_catch_a_mutant_exist(mutant):
    for name in mutant.tests:
        file, _, function = name.partition("[")[0].partition("::")
        assert f"def {function}" in (SOURCE.parents[1] / file).read_text(encoding="utf-8")


def test_a_mutant_names_nothing_that_is_not_there(tmp_path):
    """A name that was renamed would break the mutant, and any test would catch it."""
    for number, mutant in enumerate(MUTANTS):
        if mutant.file.endswith(".py"):
            text = (SOURCE / mutant.file).read_text(encoding="utf-8").replace(mutant.good, mutant.bad, 1)
            (tmp_path / f"mutant_{number}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "F821",
        "--output-format",
        "concise",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
