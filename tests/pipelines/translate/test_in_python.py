"""The pipeline from Python: the names it offers, and the example that its docstring gives."""

import inspect
import json
import re
import subprocess
import sys

import pytest

from leasehold.errors import Misuse
from leasehold.pipelines import translate
from tests.support.needs import APERTIUM
from tests.support.processes.fork_server import run_module

EXAMPLE = re.compile(r"((?:^    .*\n|^\n)+)", re.MULTILINE)
PARTS = """
import json, sys
from leasehold.pipelines import translate
before = "leasehold.pipelines.translate.api" in sys.modules
made = [getattr(translate, name) is not None for name in translate.__all__]
print(json.dumps([before, made, "leasehold.pipelines.translate.api" in sys.modules]))
"""


@pytest.fixture(params=[APERTIUM.param("apertium")])
def written(tmp_path):
    """What the docstring's example prints for a small chapter, and where it was run."""
    (tmp_path / "chapter.md").write_text("# A house\n\nThe *red* house has 12 windows.\n")
    example = max(EXAMPLE.findall(translate.__doc__ or ""), key=len)
    (tmp_path / "example.py").write_text(inspect.cleandoc(example))
    ran = run_module("example", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, tmp_path / "runs" / "chapter-en-es"


def test_the_example_of_the_docstring_translates_a_chapter(written):
    printed, folder = written
    assert printed == "{'approved': 2}\n"
    assert [one.state for one in translate.status(folder)] == ["approved", "approved"]
    assert "12 ventanas" in (folder / "final/chapter.md").read_text(encoding="utf-8")


def test_files_that_were_deleted_are_made_again_from_python(written):
    _, folder = written
    before = {name: (folder / name).read_bytes() for name in ("manifest.json", "final/chapter.md", "report.html")}
    for name in before:
        (folder / name).unlink()
    translate.project(folder)
    assert {name: (folder / name).read_bytes() for name in before} == before


def test_public_names_are_found_when_they_are_asked_for_and_not_before():
    ran = subprocess.run([sys.executable, "-c", PARTS], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [False, [True] * len(translate.__all__), True]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'translat'"):
        translate.translat  # type: ignore[attr-defined]  # noqa: B018 — looking is what is tested


def test_the_app_of_a_worker_needs_the_folder_of_a_run(monkeypatch):
    monkeypatch.delenv("LEASEHOLD_TRANSLATE_DIR", raising=False)
    with pytest.raises(Misuse, match="LEASEHOLD_TRANSLATE_DIR"):
        translate.app  # noqa: B018 — looking is what is tested
