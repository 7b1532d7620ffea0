"""A soak that was stopped goes on with what has not passed; and never takes for passed what has not."""

import os
import subprocess
import sys

from tests.workshop.crew import ROOT

SOME = """
import os, pytest

@pytest.fixture
def untidy():
    yield
    assert "MENDED" in os.environ

def test_good(): pass
def test_bad(): assert "MENDED" in os.environ
def test_left_behind(untidy): pass
@pytest.mark.parametrize("n", range(3))
def test_each(n): pass
"""


def soak(folder, *words, **environment):
    """Run the tests above with what a soak keeps; return how many were run and how many were left out."""
    known = {"LEASEHOLD_PROOF": str(folder / "proof"), "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.lab.resuming", "-q", "--rootdir", str(folder), *words],
        cwd=folder,
        env=known | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.splitlines()[-1]


def test_what_passed_is_not_run_again_and_what_failed_is(tmp_path):
    (tmp_path / "test_some.py").write_text(SOME)
    for words in ((), ("-n", "2")):
        first = soak(tmp_path, *words)
        assert "1 failed, 5 passed, 1 error" in first
        (kept,) = tmp_path.glob("proof.*.passed") or [None]
        assert len(kept.read_text().splitlines()) == 4
        assert "1 failed, 1 passed, 4 deselected, 1 error" in soak(tmp_path, *words)
        assert "2 passed, 4 deselected" in soak(tmp_path, *words, MENDED="1")
        kept.unlink()
