"""A test whose part is missing is skipped with a reason, and fails where nothing may be skipped."""

import os
import subprocess
import sys

import pytest

from tests.support.needs import Part
from tests.support.processes.fork_server import ROOT

SAMPLE = """
import pytest
from tests.support.needs import Part

missing = Part("an unlikely program", is_there=False, remedy="nobody has it")
there = Part("an interpreter", is_there=True, remedy="")
optional = Part("another interpreter", is_there=False, remedy="put it on the path", is_optional=True)

@missing.mark
def test_with_a_mark(): ...

@optional.mark
def test_with_what_may_be_missing(): ...

@pytest.mark.parametrize("value", [missing.param(1), there.param(2)])
def test_with_a_parameter(value):
    assert value == 2
"""


def outcome(folder, ci):
    """Run the sample, and return the last line of pytest and all that it printed."""
    (folder / "test_sample.py").write_text(SAMPLE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    words = [sys.executable, "-m", "pytest", "-p", "tests.support.needs", "-ra", "-c", "pytest.ini", "test_sample.py"]
    known = os.environ | {"PYTHONPATH": str(ROOT), "CI": ci, "PYTEST_ADDOPTS": ""}
    shown = subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False).stdout
    return shown.splitlines()[-1], shown


def test_a_missing_part_is_an_honest_skip_with_its_remedy(tmp_path):
    last, shown = outcome(tmp_path, ci="")
    assert "1 passed, 3 skipped" in last
    assert "needs an unlikely program; nobody has it" in shown


def test_with_ci_a_skip_is_a_failure_that_names_what_is_missing(tmp_path):
    last, shown = outcome(tmp_path, ci="true")
    assert "1 passed, 1 skipped, 2 errors" in last
    assert "needs an unlikely program; nobody has it" in shown


@pytest.mark.parametrize("is_there", [True, False])
def test_a_mark_skips_only_what_is_missing(is_there):
    mark = Part("x", is_there=is_there, remedy="y").mark.mark
    assert (mark.name, list(map(bool, mark.args))) == ("skipif", [not is_there])


def test_a_part_is_looked_for_when_a_test_needs_it_and_not_before():
    places = iter(["here", "there"])
    mark = Part("x", is_there=lambda: next(places) == "there", remedy="y").mark.mark
    assert next(places) == "here"
    assert not bool(*mark.args)
