"""Print recall by class, lines hidden needlessly, and megabytes a second; return 1 if a goal is missed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from bench.redact.benign import FILES, altered
from bench.redact.recall import counted
from bench.redact.speed import QUICK_SIZE, SIZE, measure
from bench.report import Report
from leasehold.redact import Redactor

RECALL_MIN = 0.97
CHANGED_OF_1000_MAX = 1.0
QUICK_FILES = 60
SHOWN_LENGTH_MAX = 160


def note_recall(report: Report, redactor: Redactor, *, held_out: bool) -> None:
    """Note the share of hidden samples by class, and compare that of all with the goal."""
    total, left = counted(redactor, held_out=held_out)
    lost = Counter(sample.name for sample in left)
    kind = "held out" if held_out else "visible"
    for name, count in total.items():
        report.note(f"{kind}: {name}", 100 * (1 - lost[name] / count), f"% of {count}")
    report.at_least(f"recall, {kind}", 1 - len(left) / total.total(), RECALL_MIN)


def show(redactor: Redactor, files: int) -> None:
    """Print the visible samples that survive, and the benign lines that are changed."""
    for sample in counted(redactor, held_out=False)[1]:
        print("survives:", sample.name, repr(sample.text)[:SHOWN_LENGTH_MAX])
    for line in altered(redactor, files)[0]:
        print("changed:", line[:SHOWN_LENGTH_MAX])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.redact", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs")
    parser.add_argument("--show", action="store_true", help="print what survives and what is changed needlessly")
    options = parser.parse_args()
    redactor, files = Redactor(), QUICK_FILES if options.quick else FILES
    if options.show:
        show(redactor, files)
        return 0
    report = Report()
    for held_out in (False, True):
        note_recall(report, redactor, held_out=held_out)
    changed, total = altered(redactor, files)
    report.note("benign lines changed", len(changed), f"of {total}")
    report.at_most("benign lines changed, of 1,000", 1_000 * len(changed) / total, CHANGED_OF_1000_MAX)
    measure(report, QUICK_SIZE if options.quick else SIZE)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
