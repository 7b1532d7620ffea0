"""Which seeds `make test` runs: 5,000 of the million of `make soak`, and others at each commit.

The commit's hash chooses them, so a run can be repeated: check out the same commit, or set LEASEHOLD_FIRST_SEED to the
first seed that the failure names. An unpacked archive has no commit and begins at 0.
"""

import os
import subprocess
from pathlib import Path

IN_TEST = 5_000
IN_SOAK = 1_000_000
CHUNK = 250
FIRST_SEED = "LEASEHOLD_FIRST_SEED"


def first_seed() -> int:
    """Return the first of the seeds of this run."""
    chosen = os.environ.get(FIRST_SEED)
    return int(chosen) if chosen else first_seed_at(head())


def first_seed_at(commit: str) -> int:
    return int(commit or "0", 16) % (IN_SOAK // IN_TEST) * IN_TEST


def head() -> str:
    """Return the hash of the commit that is checked out, or nothing where there is no git."""
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", "HEAD"],  # noqa: S607
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return found.stdout.strip()
