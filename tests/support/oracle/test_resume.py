"""A soak that was stopped goes on with what has not passed; and never takes for passed what has not."""

import os
import subprocess
import sys

from tests.support.processes.fork_server import ROOT

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


def soak(folder, **environment):
    """Run the tests above on two processes with what a soak keeps; return pytest's last line without its time."""
    known = {"LEASEHOLD_PROOF": str(folder / "proof"), "LEASEHOLD_COMMIT": "abc", "PYTHONPATH": str(ROOT)}
    known["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # only what the soak needs: each of three processes loads it
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist",
            "-p",
            "tests.support.oracle.resume",
            "-q",
            "-n",
            "2",
            "--rootdir",
            str(folder),
        ],
        cwd=folder,
        env=known | {"PATH": os.environ["PATH"]} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout.splitlines()[-1].partition(" in ")[0]


def test_what_passed_is_not_run_again_and_what_failed_is(tmp_path):
    (tmp_path / "test_some.py").write_text(SOME)
    assert soak(tmp_path) == "1 failed, 5 passed, 1 error"
    assert len((tmp_path / "proof.abc.passed").read_text().splitlines()) == 4
    assert soak(tmp_path, MENDED="1") == "2 passed"
    assert soak(tmp_path, LEASEHOLD_COMMIT="abc-dirty") == "1 failed, 5 passed, 1 error"
