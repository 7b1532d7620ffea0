"""Which lines of the record count: of a test that was run again the last, and nothing twice.

A soak can be stopped and started again, and a storm that failed is run again: its test writes another line, which takes
the place of the one before. The same seeds, scenario, storm or build from two tests, or lines of several commits, would
make figures look larger than they are: then nothing is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Line = dict[str, Any]
NAMED = {"points": ("name",), "storm": ("storm", "database"), "saboteurs": ("name",), "seeds": ("first", "last")}


class Refused(ValueError):
    """Lines that do not go together."""


def standing(lines: Iterable[Line]) -> list[Line]:
    """Return the lines that count, in the order in which they were first written."""
    found: dict[tuple[Any, ...], Line] = {}
    commits = set()
    for line in lines:
        commits.add(str(line["commit"]))
        found[line["part"], line.get("test", ""), *_name(line)] = line
    if len(commits) > 1:
        raise Refused(
            f"Lines of {len(commits)} commits ({', '.join(sorted(commits))}). Figures are of one: delete the lines of "
            "the others, or move the file away and run `make soak` again."
        )
    chosen = list(found.values())
    _refuse_repeated(chosen)
    _refuse_overlapping([line for line in chosen if line["part"] == "seeds"])
    return chosen


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
