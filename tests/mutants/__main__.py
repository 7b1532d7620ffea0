"""Apply each mutant in a copy, run the tests that should catch it, and print which did: `make mutants`."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.mutants import MUTANTS
from tests.support.oracle.proof_report import record

ROOT = Path(__file__).parents[2]
PARTS = ("src", "tests", "examples", "docs", "bench", "scripts", "pyproject.toml", "README.md", "Makefile")
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
SECONDS_MAX = 900


def print_line(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def copy(folder: Path) -> None:
    """Copy what the tests need."""
    ignore = shutil.ignore_patterns("__pycache__", ".peers", ".results", ".mypy_cache", ".hypothesis")
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=ignore)
        elif source.exists():
            shutil.copy(source, folder / part)


def apply(folder: Path, mutant: Mutant) -> None:
    """Put the bad text in place of the good one."""
    path = folder / "src" / "leasehold" / mutant.file
    path.write_text(path.read_text(encoding="utf-8").replace(mutant.good, mutant.bad, 1), encoding="utf-8")


def run(folder: Path, tests: tuple[str, ...]) -> tuple[str | None, float]:
    """Run tests until the first that fails; return its name and the seconds that took."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("LEASEHOLD_PROOF", None)  # what a mutant shows proves nothing
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS_MAX} s", float(SECONDS_MAX)
    found = FAILED.search(done.stdout)
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(found):  # nothing was tried: no test, no import
        raise SystemExit(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found and found[1], time.monotonic() - started


def main() -> int:
    """Try every mutant; exit 1 if one survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--sound", action="store_true", help="first run all those tests on an unharmed copy")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    if options.sound and not _is_sound(chosen):
        return 2
    survivors = 0
    for mutant in chosen:
        with tempfile.TemporaryDirectory() as name:
            copy(Path(name))
            apply(Path(name), mutant)
            caught, seconds = run(Path(name), mutant.tests)
        survivors += caught is None
        print_line(f"{'caught  ' if caught else 'SURVIVED'} {seconds:6.1f} s  {mutant.name}: {caught or '-'}")
        record("mutants", name=mutant.name, caught=caught, seconds=round(seconds, 1))
    print_line(f"{len(chosen)} mutants, {survivors} survived")
    return 1 if survivors else 0


def _is_sound(chosen: list[Mutant]) -> bool:
    """Whether the tests pass where nothing is broken: what fails there would be caught for nothing."""
    tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
    with tempfile.TemporaryDirectory() as name:
        copy(Path(name))
        failed, seconds = run(Path(name), ("-n", "2", *tests))
    print_line(f"unharmed: {failed or 'all pass'} in {seconds:.0f} s")
    return failed is None


if __name__ == "__main__":
    sys.exit(main())
