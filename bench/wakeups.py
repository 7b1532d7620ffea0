"""What one job wakes, and how soon it starts, with 24 idle workers: `python -m bench.wakeups`.

Workers that can do the same are a group, and one job wakes two of a group. The other way, in which it wakes all, comes
of 24 workers that each can do something more: every one is a group. Both are measured in turn on one server.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from bench.bed import Bed, beds
from bench.report import Report
from leasehold import Leasehold
from tests.support.wait import until

WORKERS = 24


@contextmanager
def idle_workers(bed: Bed, *, alike: bool) -> Iterator[None]:
    """Have 24 workers that wait for work: of one group, or each of its own."""
    workers = []
    for number in range(WORKERS):
        known = {"LEASEHOLD_URL": bed.url, "BENCH_EXTRA": "" if alike else f"extra-{number}"}
        workers.append(subprocess.Popen([sys.executable, "-m", "bench.app", "work", "50"], env=os.environ | known))
    until(lambda: bed.sql(f"SELECT count(*) FROM {bed.prefix}worker WHERE ended_at IS NULL")[0][0] == WORKERS, 300)  # noqa: S608
    threading.Event().wait(5)
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()


def latency(bed: Bed, count: int) -> list[float]:
    """Measure milliseconds from `submit` to the first line of the handler."""
    app = Leasehold(bed.url)
    app.submit("stamp", {}).wait(60)
    found = []
    for _ in range(count):
        threading.Event().wait(0.1)
        job = app.submit("stamp", {}).wait(60)
        assert job.created_at is not None
        found.append(job.output["started"] / 1e6 - job.created_at.timestamp() * 1e3)
    app.close()
    return found


def measure(bed: Bed, report: Report, count: int, *, alike: bool) -> float:
    """Note how soon a job starts, and return the median."""
    with idle_workers(bed, alike=alike):
        found = sorted(latency(bed, count))
    what = f"{bed.name}: submit to start, {'two' if alike else 'all'} of {WORKERS} woken"
    report.note(f"{what}, p95", found[int(len(found) * 0.95)], "ms")
    return report.note(f"{what}, p50", statistics.median(found), "ms")


def main() -> int:
    """Print both medians and their ratio, on both databases; exit 1 if a job starts later with two woken."""
    parser = argparse.ArgumentParser(prog="python -m bench.wakeups", description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    report = Report()
    with beds() as make:
        for name in ("postgres", "sqlite"):
            woken_all, woken_two = (measure(make(name), report, options.count, alike=alike) for alike in (False, True))
            report.at_most(f"{name}: start with two woken against all, p50", woken_two / woken_all, 1.1)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
