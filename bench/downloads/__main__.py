"""Compare the download pipeline with aria2c and wget over the loopback, and write docs/benchmark-download.md.

It needs nginx, aria2c and wget (Debian: apt install nginx-light aria2 wget) and takes about a quarter of an hour; the
machine should be quiet. A run that is quick, or of some workloads only, writes no document without --docs.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.compare.__main__ import listed
from bench.compare.figures import Results, load
from bench.downloads import document
from bench.downloads.fetchers import ARIA, WGET
from bench.downloads.run import FULL, QUICK, WORKLOADS, Run, Size
from bench.downloads.server import ToolMissing, serving, small_sizes, tool

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / ".results"
NAME = "benchmark-download.md"


def facts(size: Size) -> dict[str, Any]:
    """Return what the figures depend on, and nothing that identifies the machine."""
    nginx, aria, wget = (tool(name) for name in ("nginx", ARIA, WGET))
    return {
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _output_of(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]) or "unknown",
        "rounds": size.rounds,
        "files": size.files,
        "bytes": size.bytes,
        "small_bytes": sum(small_sizes(size.files)),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {
            "nginx": _output_of([nginx, "-v"]).rpartition("/")[2],
            ARIA: _output_of([aria, "--version"]).split()[2],
            WGET: _output_of([wget, "--version"]).split()[2],
            "uvloop": version("uvloop"),
        },
        "settings": {},
        "trials": [],
    }


def _output_of(words: list[str]) -> str:
    done = subprocess.run(words, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.downloads", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, once, to see that it runs")
    parser.add_argument(
        "--workload",
        type=listed(WORKLOADS),
        default=set(WORKLOADS),
        metavar="NAME,…",
        help=f"just these: {', '.join(WORKLOADS)}",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="measure nothing: write the document of that run")
    parser.add_argument("--docs", type=Path, help="where the document goes (default: docs)")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a goal was missed")
    return parser.parse_args()


def measure(given: argparse.Namespace) -> Results:
    """Run, keeping what is measured in a file."""
    size = QUICK if given.quick else FULL
    path = RESULTS / f"downloads-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}{'-quick' if given.quick else ''}.json"
    results = Results(facts(size))
    with serving() as source:
        Run(source, size, results, path, given.workload).measure()
    print(f"\nkept as {path.relative_to(ROOT)}")
    return results


def main() -> int:
    """Run and write; exit 1 if a goal was missed and that was asked for."""
    given = options()
    try:
        results = load(given.report) if given.report else measure(given)
    except ToolMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    print(document.terminal(results))
    is_partial = not given.report and (given.quick or given.workload != set(WORKLOADS))
    if given.docs or not is_partial:
        folder = given.docs or ROOT / "docs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(document.markdown(results), encoding="utf-8")
    return int(given.strict and any(goal.reached is False for goal in document.judge(results)))


if __name__ == "__main__":
    sys.exit(main())
