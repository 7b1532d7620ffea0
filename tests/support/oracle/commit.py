"""Which lines of the record count: of a test that was run again the last, and nothing twice.

A soak can be stopped and started again, and a storm that failed is run again: its test writes another line, which takes
the place of the one before, and the result of the earlier one is listed as well. A fix of the tests needs no new soak:
lines of commits whose `src/` is the same go together. The same seeds, scenario, storm or build from two tests, or lines
of several engines, would make figures look larger than they are: then nothing is written.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

Line = dict[str, Any]
NAMED = {"points": ("name",), "storm": ("storm", "database"), "mutants": ("name",), "seeds": ("first", "last")}


class Refused(ValueError):
    """Lines that do not go together."""


def engine_of(commit: str, where: Path = Path(__file__).parent) -> str:
    """Name the engine of a commit: the tree of its `src/`. What git does not know is an engine of its own."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "--verify", "--quiet", f"{commit}:src"],  # noqa: S607
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or commit


def standing(lines: Iterable[Line], engine: Callable[[str], str] = engine_of) -> list[Line]:
    """Return the lines that count, in the order in which they were first written."""
    found: dict[tuple[Any, ...], Line] = {}
    for line in lines:
        found[_test(line)] = line
    chosen = list(found.values())
    commits = sorted({str(line["commit"]) for line in chosen})
    if len(commits) > 1 and len({engine(name) for name in commits}) > 1:
        raise Refused(
            f"Lines of {len(commits)} commits ({', '.join(commits)}). Figures are of one engine: delete the lines of "
            "the others, or move the file away and run `make soak` again."
        )
    _refuse_repeated(chosen)
    _refuse_overlapping([line for line in chosen if line["part"] == "seeds"])
    return chosen


def overruled(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that do not count, because their test was run again."""
    last: dict[tuple[Any, ...], Line] = {}
    found = []
    for line in lines:
        found += [last[_test(line)]] if _test(line) in last else []
        last[_test(line)] = line
    return found


def _test(line: Line) -> tuple[Any, ...]:
    """Name the test that wrote a line, and what it is about."""
    return line["part"], line.get("test", ""), *_name(line)


def _name(line: Line) -> tuple[Any, ...]:
    """Name what a line is about."""
    return tuple(line[field] for field in NAMED[line["part"]])


def _refuse_repeated(lines: list[Line]) -> None:
    counted = Counter((line["part"], *_name(line)) for line in lines)
    for (part, *name), count in counted.items():
        if count > 1:
            tests = sorted(str(line.get("test")) for line in lines if (line["part"], *_name(line)) == (part, *name))
            what = f"{part} {', '.join(map(str, name))}: {', '.join(tests)}"
            raise Refused(
                f"{count} tests write of the {what}. Delete the lines of all but one, or give what they show names of "
                "their own."
            )


def _refuse_overlapping(lines: list[Line]) -> None:
    for one, other in pairwise(sorted(lines, key=lambda line: line["first"])):
        if other["first"] <= one["last"]:
            ranges = " and ".join(f"{line['first']} to {line['last']}" for line in (one, other))
            raise Refused(f"Seeds {ranges} overlap and would count twice. Delete one of the two lines.")
