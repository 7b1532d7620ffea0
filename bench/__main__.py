"""Measure everything the project makes claims about, on both databases, in one run: `make bench`."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import measures, redact, steps
from bench.bed import Bed, beds
from bench.report import Report


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    jobs: int
    singles: int
    settled: int
    ready: int
    stamps: int
    rounds: int
    idle: float


FULL = Size(jobs=100_000, singles=1_000, settled=1_000_000, ready=200_000, stamps=100, rounds=3, idle=20)
QUICK = Size(jobs=20_000, singles=200, settled=50_000, ready=20_000, stamps=20, rounds=1, idle=5)


def best(make: Callable[[str], Bed], name: str, size: Size, measure: Callable[[Bed], float], jobs: int = 0) -> float:
    """Return the median rate over fresh databases; other work on the machine disturbs single rounds."""
    found = []
    for _ in range(size.rounds):
        bed = make(name)
        measures.fill(bed, jobs or size.jobs)
        found.append(measure(bed))
    return statistics.median(found)


def measure_submits(make: Callable[[str], Bed], name: str, size: Size, report: Report) -> None:
    """Measure how fast work comes in."""
    report.note(f"{name}: bulk submit", measures.bulk_submit(make(name), size.jobs))
    report.note(f"{name}: single submit", measures.single_submit(make(name), size.singles))


def measure_drains(make: Callable[[str], Bed], name: str, size: Size, report: Report) -> float:
    """Measure how fast work is done, compared with the statements alone."""
    one = report.note(f"{name}: ceiling, claim and settle in turn", best(make, name, size, measures.ceiling_one))
    two = report.note(f"{name}: ceiling, claim and settle in parallel", best(make, name, size, measures.ceiling_two))
    drain = report.note(f"{name}: drain, one worker", best(make, name, size, measures.drain))
    report.note(f"{name}: drain, two workers", best(make, name, size, lambda bed: measures.drain(bed, 2)))
    report.note(f"{name}: drain against claim and settle in parallel", drain / two, "")
    report.at_least(f"{name}: drain against its ceiling", drain / one, 0.8 if name == "postgres" else 0.3)
    return drain


def measure_cost(size: Size, report: Report) -> None:
    """Measure what a drained task costs a server of its own: WAL is the whole server's, vacuums elsewhere included."""
    with beds() as make:
        statements, wal = measures.drain_cost(make("postgres"), size.jobs)
    report.at_most("postgres: statements per task", report.note("postgres: statements per task", statements, ""), 0.05)
    report.at_most("postgres: WAL bytes per task", report.note("postgres: WAL bytes per task", wal, "B"), 1_200)


def measure_big(make: Callable[[str], Bed], name: str, size: Size, drain: float, report: Report) -> None:
    """Measure the drain when the tables are full of history."""

    def with_history() -> float:
        bed = make(name)
        measures.make_history(bed, size.settled)
        measures.fill(bed, size.ready)
        return measures.drain(bed)

    rate = report.note(f"{name}: drain, {size.settled:,} settled and {size.ready:,} ready", with_history())
    if name == "postgres":
        report.at_least("postgres: drain with big tables against its own", rate / drain, 0.8)


def measure_pinned(make: Callable[[str], Bed], size: Size, drain: float, report: Report) -> None:
    """Measure the drain while another session holds an old snapshot."""

    def run(bed: Bed) -> float:
        with measures.pinned(bed):
            return measures.drain(bed)

    rate = report.note("postgres: drain under a pinned snapshot", best(make, "postgres", size, run))
    report.at_least("postgres: drain under a pinned snapshot against its own", rate / drain, 0.8)


def measure_latency(make: Callable[[str], Bed], size: Size, report: Report) -> None:
    """Measure how soon an idle worker starts a job."""
    for name in ("postgres", "sqlite"):
        found = measures.latency(make(name), size.stamps)
        report.note(f"{name}: submit to start, p50", statistics.median(found), "ms")
        report.note(f"{name}: submit to start, p99", sorted(found)[int(len(found) * 0.99)], "ms")
    bare = report.note("postgres: bare insert, notify, claim, p50", _bare(make, size), "ms")
    ratio = report.figures["postgres: submit to start, p50"] / bare
    report.at_most("postgres: submit to start against bare, p50", ratio, 3.0)


def _bare(make: Callable[[str], Bed], size: Size) -> float:
    return statistics.median(measures.bare_latency(make("postgres"), size.stamps))


def measure_idle(make: Callable[[str], Bed], size: Size, report: Report) -> None:
    """Measure what a worker with nothing to do costs."""
    statements, cpu = measures.idle_cost(make("postgres"), size.idle)
    report.at_most("postgres: idle statements", report.note("postgres: idle statements", statements), 2.0)
    report.at_most("postgres: idle CPU, percent of a core", report.note("postgres: idle CPU", cpu, "%"), 1.0)


def main() -> int:
    """Run all, print figures and goals; exit 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small numbers, to see that it runs")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    report = Report()
    with beds() as make:
        for name in ("postgres", "sqlite"):
            measure_submits(make, name, size, report)
        rates = {name: measure_drains(make, name, size, report) for name in ("postgres", "sqlite")}
        measure_cost(size, report)
        measure_pinned(make, size, rates["postgres"], report)
        for name in ("postgres", "sqlite"):
            measure_big(make, name, size, rates[name], report)
        measure_latency(make, size, report)
        measure_idle(make, size, report)
        steps.measure(make, steps.QUICK if options.quick else steps.FULL, report)
    redact.measure(report, redact.QUICK_SIZE if options.quick else redact.SIZE)
    if options.json:
        options.json.write_text(measures.dump(dict(report.figures)), encoding="utf-8")
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
