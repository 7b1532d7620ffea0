"""What docs/translate.md shows of a first run is what the commands print."""

import os
import re
import shlex

import pytest

from tests.support.needs import APERTIUM
from tests.support.processes.fork_server import run_module
from tests.tidy.tree import ROOT

GUIDE = (ROOT / "docs" / "translate.md").read_text(encoding="utf-8")
STORY = re.compile(r"^````markdown\n(.*?)^````$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```console\n(.*?)^```\n\nApertium", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.fixture(params=[APERTIUM.param("apertium")])
def folder(tmp_path):
    (tmp_path / "story.md").write_text(STORY.findall(GUIDE)[0], encoding="utf-8")
    return tmp_path


def output_of(command, folder):
    """What a command of the guide prints."""
    program, *words = shlex.split(command)
    if program == "cat":
        return (folder / words[0]).read_text(encoding="utf-8")
    known = {name: value for name, value in os.environ.items() if name != "LEASEHOLD_URL"}
    ran = run_module(program, *words, cwd=folder, env=known)
    assert ran.stderr == ""
    return ran.stdout


def test_the_first_run_of_the_guide_prints_what_the_guide_shows(folder):
    (shown,) = SHOWN.findall(GUIDE)
    steps = STEP.findall(shown)
    assert [command.split()[0] for command, _ in steps] == ["leasehold"] * 3 + ["cat", "leasehold"]
    for command, expected in steps:
        assert output_of(command, folder) == expected, command
