"""Parts that a machine may lack: the only place where a test may be skipped, and always with a reason.

A test or a fixture's parameter names the part it needs: `@NGINX.mark`, or `params=[NGINX.param(…)]`. With CI=true a
skipped test has failed: what runs there installs what the tests need. An optional part, such as another interpreter,
may be missing there too.
"""

import os
import shutil
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.pipelines.translate.translators.apertium.modes import installed_modes

OPTIONAL = "optional: "
CAP_SYS_ADMIN = 21  # the bit of the right to mount


@dataclass(frozen=True, slots=True)
class Part:
    """Something that tests need and that is no Python package."""

    name: str
    is_there: bool | Callable[[], bool]
    remedy: str
    is_optional: bool = False

    @property
    def reason(self) -> str:
        return f"{OPTIONAL if self.is_optional else ''}needs {self.name}; {self.remedy}"

    @property
    def mark(self) -> pytest.MarkDecorator:
        """Skips a test where the part is missing."""
        return pytest.mark.skipif(cast("bool", _Missing(self)), reason=self.reason)

    def param(self, *values: Any) -> Any:
        """Return a parameter that needs the part."""
        return pytest.param(*values, id=self.name, marks=self.mark)


@dataclass(frozen=True, slots=True)
class _Missing:
    """Whether a part is missing: found out when the first test that needs it begins, not at collection."""

    part: Part

    def __bool__(self) -> bool:
        is_there = self.part.is_there
        return not (is_there() if callable(is_there) else is_there)


def find_program(name: str) -> str | None:
    """Return the path of a program; Debian puts some where only root looks."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def _has_apertium() -> bool:
    pairs = {mode.name for mode in installed_modes()}
    return find_program("lt-proc") is not None and {"eng-spa", "spa-eng"} <= pairs


def _may_mount() -> bool:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff")]
    return bool(int(line.split()[1], 16) >> CAP_SYS_ADMIN & 1)


NGINX = Part("nginx", find_program("nginx") is not None, "on Debian: apt install nginx-light")
STRACE = Part("strace", find_program("strace") is not None, "on Debian: apt install strace")
APERTIUM = Part("apertium", _has_apertium(), "on Debian: apt install apertium apertium-eng-spa")
MOUNT = Part("the right to mount a disk", _may_mount(), "run the tests as root, or with CAP_SYS_ADMIN")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true, have a skipped test fail."""
    report = yield
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (report.longrepr,)
        if OPTIONAL in str(reason):
            return report
        report.outcome = "failed"
        report.longrepr = f"{reason}. With CI=true nothing may be skipped: install what is missing."
    return report
