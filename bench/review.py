"""Measure how fast responses of a reviewer are parsed: `python -m bench.review`. Exits 1 below the goal.

A response has 500 findings about 100 changed files. Three kinds are measured: all in order, all to be coerced in two
fields with their diagnostics, and one half dropped. For comparison, the same bytes are only read as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.report import Report
from leasehold.pipelines.review.contract import ExpectedVersions, parse_review

GOAL_FINDINGS_PER_SECOND = 5_000
FINDINGS = 500
RESPONSES, QUICK_RESPONSES = 20, 2
ROUNDS = 3
CHANGED = tuple(f"src/package/module_{number}.py" for number in range(100))
EXPECTED = ExpectedVersions("1.0.0")


def finding(number: int) -> dict[str, Any]:
    return {
        "id": f"F{number}", "severity": "medium", "category": "reliability", "title": "The file is not closed",
        "file": CHANGED[number % len(CHANGED)], "line": number + 1, "end_line": number + 9, "confidence": "high",
        "message": "The file is opened outside a with statement, so an exception leaves it open." * 3,
        "suggestion": "with path.open() as file:",
    }  # fmt: skip


def crooked(number: int) -> dict[str, Any]:
    found = finding(number)
    return {**found, "line": str(found["line"]), "title": f" {found['title']}"}


def half_dropped(number: int) -> dict[str, Any]:
    return {**finding(number), "file": "elsewhere.py"} if number % 2 else finding(number)


def response(make: Callable[[int], dict[str, Any]]) -> bytes:
    findings = [make(number) for number in range(FINDINGS)]
    return json.dumps({"schema_version": "1.0", "prompt_version": "1.0.0", "findings": findings}).encode()


def parsed(text: bytes) -> int:
    found = parse_review(text, CHANGED, EXPECTED)
    assert found.result is not None
    return len(found.result.findings)


def rates(responses: int = RESPONSES) -> dict[str, float]:
    """Return findings a second of each way: the best round, for noise only ever slows down."""
    ways: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
        "parse, all in order": (response(finding), parsed),
        "parse, two coercions each": (response(crooked), parsed),
        "parse, one half dropped": (response(half_dropped), parsed),
        "only read as JSON": (response(finding), json.loads),
    }
    best = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, (text, act) in ways.items():
            started = time.perf_counter()
            for _ in range(responses):
                act(text)
            best[name] = max(best[name], responses * FINDINGS / (time.perf_counter() - started))
    return best


def measure(report: Report, responses: int = RESPONSES) -> None:
    """Note every rate; the slowest way to parse has to reach the goal."""
    found = rates(responses)
    for name, rate in found.items():
        report.note(f"review: {name}", rate, "findings/s")
    slowest = min(rate for name, rate in found.items() if name.startswith("parse"))
    report.at_least("review: the slowest way to parse, findings/s", slowest, GOAL_FINDINGS_PER_SECOND)


def main() -> int:
    """Print the rates; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.review", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs")
    report = Report()
    measure(report, QUICK_RESPONSES if parser.parse_args().quick else RESPONSES)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
