"""A soak that goes on where it was stopped: what has passed at this commit is not run again.

`pytest -p tests.support.oracle.resume` keeps the names of tests that passed next to the file that `LEASEHOLD_PROOF`
names, in one file for each commit. A tree with changes has no name that could stand for it: there everything is run.
"""

import os
from pathlib import Path

import pytest

from tests.support.oracle.proof_report import commit


def _passed() -> Path | None:
    proof, name = os.environ.get("LEASEHOLD_PROOF"), os.environ.get("LEASEHOLD_COMMIT") or commit()
    return None if not proof or name == "unknown" or name.endswith("-dirty") else Path(f"{proof}.{name}.passed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has passed."""
    path = _passed()
    known = set(path.read_text(encoding="utf-8").splitlines()) if path is not None and path.exists() else set()
    done = [item for item in items if item.nodeid in known]
    if done:
        config.hook.pytest_deselected(items=done)
        items[:] = [item for item in items if item.nodeid not in known]


_calls: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down what has passed, with its cleaning up, in the process that collects the reports."""
    if report.when == "call" and report.passed:
        _calls.add(report.nodeid)
    path = _passed() if report.when == "teardown" and report.passed and report.nodeid in _calls else None
    if path is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")
