"""Property tests draw the same examples in every run, and others only where more are asked for."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.processes.fork_server import ROOT
from tests.support.properties import TIMES

SCRIPT = """
import importlib, json, sys
from hypothesis import given, settings, strategies
from tests.support.properties import examples, load_profile

load_profile()
for module in sys.argv[1:]:
    importlib.import_module(module)
found = []

@settings(max_examples=examples(200))
@given(strategies.integers(), strategies.text())
def draw(number, text):
    found.append([number, text])

draw()
print(json.dumps(found))
"""


@pytest.fixture
def drawn(tmp_path):
    """Returns what a process of its own draws that has imported these modules."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)

    def draw(*modules, **environment):
        known = {name: value for name, value in os.environ.items() if name != TIMES}
        command = [sys.executable, str(script), *modules]
        env = {**known, "PYTHONPATH": str(ROOT), **environment}
        return json.loads(subprocess.run(command, env=env, check=True, capture_output=True).stdout)

    return draw


def test_make_test_draws_the_same_examples_whatever_else_is_imported(drawn):
    found = drawn()
    assert len(found) == 200
    assert found == drawn("leasehold.model.limits", "leasehold.errors")


def test_a_soak_draws_more_examples_and_others_each_time(drawn):
    once, again = (drawn(**{TIMES: "3"}) for _ in range(2))
    assert once != again
    assert len(once) == len(again) == 600
