"""Measure jobs of ten effects with one worker, compared with DBOS on the same server: `python -m bench.steps`.

Rounds alternate between the two, so that whatever else the machine does falls on both. Ours counts from the first
claim to the last end; theirs from the first step to the last, in the fastest of its variants. Both keep every step
durable with PostgreSQL's own defaults, over the same Unix socket. Ours writes twice a step: intent, then result.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bench import measures, peer
from bench.bed import Bed, beds
from bench.report import Report
from tests.support.databases.postgres import PostgresServer

GOAL = 20


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured; `few` for one job at a time, where nothing shares a commit."""

    jobs: int
    few: int
    workflows: int
    warm: int
    rounds: int


FULL = Size(jobs=10_000, few=300, workflows=300, warm=60, rounds=3)
QUICK = Size(jobs=2_000, few=50, workflows=60, warm=20, rounds=1)

Measure = Callable[[], float]


def measure(make: Callable[[str], Bed], size: Size, report: Report) -> bool:
    """Print the rates and compare; False: there was nothing to compare with."""
    measured = _ours(make, size)
    try:
        version = peer.install()
    except peer.PeerMissing as missing:
        _note(measured, size, report)
        print(f"  postgres: ten effects against DBOS: not measured: {missing}", flush=True)
        return False
    server = make("postgres").server
    theirs = {f"DBOS {version}: {variant.name}": _theirs(server, variant, size) for variant in peer.VARIANTS}
    rates = _note(measured | theirs, size, report)
    best = max(theirs, key=rates.__getitem__)
    ratio = rates["postgres: ten effects, one worker"] / rates[best]
    report.note(f"postgres: ten effects against {best}", ratio, "×")
    report.at_least("postgres: ten effects against DBOS at its fastest", ratio, GOAL)
    return True


def _ours(make: Callable[[str], Bed], size: Size) -> dict[str, Measure]:
    return {
        "postgres: ten effects, one worker": lambda: measures.effects(make("postgres"), size.jobs),
        "postgres: ten effects, 20 in flight": lambda: measures.effects(make("postgres"), size.few * 10, 20),
        "postgres: ten effects, 1 in flight": lambda: measures.effects(make("postgres"), size.few, 1),
        "sqlite: ten effects, one worker": lambda: measures.effects(make("sqlite"), size.jobs),
    }


def _theirs(server: PostgresServer, variant: peer.Variant, size: Size) -> Measure:
    return lambda: peer.steps(server, variant, size.workflows, size.warm)


def _note(measured: dict[str, Measure], size: Size, report: Report) -> dict[str, float]:
    """Take all in turn, as often as there are rounds; keep the medians."""
    found: dict[str, list[float]] = {name: [] for name in measured}
    for number in range(1, size.rounds + 1):
        for name, take in measured.items():
            found[name].append(take())
            print(f"  round {number}: {name:<62}{found[name][-1]:>14,.2f}", flush=True)
    print("\nmedians of the rounds")
    return {name: report.note(name, statistics.median(rates), "steps/s") for name, rates in found.items()}


def main() -> int:
    """Print rates and the ratio; exit 1 if the goal was missed or nothing could be compared."""
    parser = argparse.ArgumentParser(prog="python -m bench.steps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs")
    options = parser.parse_args()
    report = Report()
    with beds() as make:
        compared = measure(make, QUICK if options.quick else FULL, report)
    missed = report.close()
    return 1 if missed or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
