"""Compare the engine's figures with another commit's, in one run: `python -m bench.against COMMIT`.

Each round measures both commits, the order turning from round to round, so that other work on the machine falls on
both alike. A figure counts as the median over the rounds of this commit's share of the other's. Each commit runs its
own `bench`, with the packages of this environment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOSS_MAX = 0.05
LOWER_IS_BETTER = ("submit to start", "statements", "bytes", "idle")
YARDSTICKS = ("bare ", "DBOS")  # what the engine is measured with is not the engine


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """Check a commit out into a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def measured(tree: Path, arguments: list[str]) -> dict[str, float]:
    """Run one commit's `bench`; a missed goal (exit 1) is not this command's concern."""
    with tempfile.NamedTemporaryFile(suffix=".json") as figures:
        command = [sys.executable, "-m", "bench", "--json", figures.name, *arguments]
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
        subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=False)
        found: dict[str, float] = json.loads(Path(figures.name).read_text(encoding="utf-8"))
    return found


def gains(name: str, ours: list[float], theirs: list[float]) -> list[float]:
    """Return for each round how much better this commit is: 1.0 is equal, under 1.0 is worse."""
    lower = any(text in name for text in LOWER_IS_BETTER)
    pairs = zip(theirs, ours, strict=True) if lower else zip(ours, theirs, strict=True)
    return [above / below if below else 1.0 for above, below in pairs]


def compare(rounds: list[tuple[dict[str, float], dict[str, float]]]) -> int:
    """Print each figure that both commits have; return how many are worse than allowed."""
    shared = [name for name in rounds[0][0] if all(name in found for pair in rounds for found in pair)]
    worse = 0
    print(f"{'figure':<62}{'this':>14}{'other':>14}{'better by':>11}   range")
    for name in (name for name in shared if not any(text in name for text in YARDSTICKS)):
        ours, theirs = ([pair[side][name] for pair in rounds] for side in (0, 1))
        shares = gains(name, ours, theirs)
        middle = statistics.median(shares)
        worse += (bad := middle < 1 - LOSS_MAX)
        print(
            f"{name:<62}{statistics.median(ours):>14,.2f}{statistics.median(theirs):>14,.2f}{middle:>11.3f}"
            f"   {min(shares):.2f}-{max(shares):.2f}{'  WORSE' if bad else ''}"
        )
    return worse


def main() -> int:
    """Measure in turn, print the table; exit 1 if a figure is more than 5 % worse."""
    parser = argparse.ArgumentParser(prog="python -m bench.against", description=__doc__)
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="how often each commit is measured (default: 5)")
    parser.add_argument("--full", action="store_true", help="large numbers; a round takes long")
    options = parser.parse_args()
    arguments = [] if options.full else ["--quick"]
    rounds = []
    with tree_of(options.commit) as other:
        for number in range(options.rounds):
            order = (ROOT, other) if number % 2 == 0 else (other, ROOT)
            found = {tree: measured(tree, arguments) for tree in order}
            rounds.append((found[ROOT], found[other]))
            print(f"round {number + 1} of {options.rounds} done", flush=True)
    return 1 if compare(rounds) else 0


if __name__ == "__main__":
    sys.exit(main())
