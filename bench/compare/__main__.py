"""Compare Leasehold with other engines, all in one run on one PostgreSQL and on SQLite, and write docs/benchmark.md.

A full run takes about 35 minutes on two cores; the machine should be quiet. The peers are installed into bench/.peers
from a package index, graphile-worker only where node and npm are there; PostgreSQL is the tests' own. A peer that
cannot be had, or fails, is named in the report. A run of some peers or workloads writes no documents without --docs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw

from bench.compare import document, goals
from bench.compare.figures import Results, load
from bench.compare.peers import BY_NAME
from bench.compare.place import Ground, ground
from bench.compare.run import FULL, QUICK, WORKLOADS, Run, Size, measure

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / ".results"
SETTINGS = ("fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_connections")


def facts(size: Size, lands: Ground) -> dict[str, Any]:
    """Return what the figures depend on, and nothing that identifies the machine."""
    asked = lands.place("postgres")
    settings = {name: asked.sql(f"SHOW {name}")[0][0] for name in SETTINGS}
    found = {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "repeats": size.repeats,
        "is_quick": size is QUICK,
        "seconds": size.seconds,
        "settled": size.settled,
        "recovery_limit": size.recovery,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "postgres": asked.sql("SHOW server_version")[0][0].split()[0],
        "postgres_settings": settings,
        "sqlite": apsw.sqlite_lib_version(),
        "versions": {},
        "settings": {},
        "histories": {},
        "ways": {},
    }
    lands.clear(asked)
    return found


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout.strip() or "unknown"


def report(results: Results, folder: Path) -> int:
    """Write table, charts and goals; return how many goals were missed."""
    document.write(results, folder)
    judged = goals.judge(results)
    print(document.terminal(results, judged))
    return sum(goal.reached is False for goal in judged)


def listed(known: tuple[str, ...]) -> Any:
    """Read names separated by commas."""

    def read(text: str) -> set[str]:
        names = set(text.split(","))
        if unknown := names - set(known):
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        return names

    return read


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, once, to see that it runs")
    parser.add_argument(
        "--only", type=listed(tuple(BY_NAME)), default=set(), metavar="PEER,…", help=f"just these: {', '.join(BY_NAME)}"
    )
    parser.add_argument(
        "--workload",
        type=listed(WORKLOADS),
        default=set(WORKLOADS),
        metavar="NAME,…",
        help=f"just these: {', '.join(WORKLOADS)}",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="measure nothing: write the documents of that run")
    parser.add_argument("--docs", type=Path, help="where the documents go (default: docs)")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a goal was missed")
    return parser.parse_args()


def main() -> int:
    """Run and write; exit 1 if a goal was missed and that was asked for."""
    given = options()
    if given.report:
        return int(report(load(given.report), given.docs or ROOT / "docs") > 0 and given.strict)
    size = QUICK if given.quick else FULL
    path = RESULTS / f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}{'-quick' if given.quick else ''}.json"
    print(f"keeping what is measured as {path.relative_to(ROOT)}", flush=True)
    with ground() as lands:
        results = Results(facts(size, lands))
        measure(Run(lands, size, results, path, given.only, given.workload))
    results.save(path)
    print(f"\nkept as {path.relative_to(ROOT)}")
    is_partial = given.quick or given.only or given.workload != set(WORKLOADS)
    if is_partial and not given.docs:
        print(document.terminal(results, goals.judge(results)))
        return 0
    return int(report(results, given.docs or ROOT / "docs") > 0 and given.strict)


if __name__ == "__main__":
    sys.exit(main())
