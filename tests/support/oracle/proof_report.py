"""What the long tests have shown, as lines of JSON in the file that `LEASEHOLD_PROOF` names; and as `docs/proof.md`.

`make soak` and `make mutants` collect the lines; `python -m tests.support.oracle.proof_report FILE` writes the
document from them. A figure stands there only if a run has written it, and what no run has shown is listed.
`standing.py` chooses the lines that count, `unshown.py` knows what is asked for.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.support.oracle.commit import Refused, engine_of, overruled, standing
from tests.support.oracle.unshown import unshown, wrong_in

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "proof.md"
UNKNOWN = "unknown"
Line = dict[str, Any]
REPICKUP = """\
Re-pickup: seconds from a fault, or from the return of the database, to the next claim of a task that lost its worker.
Its p99 is at most the lease and two seconds."""


def record(part: str, **fields: object) -> None:
    """Append a line, if anybody collects them and the tree has a name: a line without a commit proves nothing.

    The line carries the name of the test that wrote it, so that a test that was run again counts once. Mutants
    are copies without a name.
    """
    path = os.environ.get("LEASEHOLD_PROOF")
    if not path or (name := commit()) == UNKNOWN:
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    listed = {"part": part, "at": round(time.time()), "commit": name, "test": test}
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, json.dumps(listed | fields, sort_keys=True).encode() + b"\n")
    finally:
        os.close(descriptor)


def commit() -> str:
    """Name what was tested."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return os.environ.get("LEASEHOLD_COMMIT") or found.stdout.strip() or UNKNOWN


def page(lines: Iterable[Line], engine: Callable[[str], str] = engine_of) -> str:
    """Write the document; `Refused` if the lines do not go together."""
    lines = list(lines)
    everything = standing(lines, engine)
    parts: dict[str, list[Line]] = defaultdict(list)
    for line in everything:
        parts[line["part"]].append(line)
    text = [
        "# Proof",
        "",
        "Results of `make soak` and `make mutants`. Every figure is from runs of the commits named here.",
        "",
        f"{_commits(everything, engine)} Python {platform.python_version()}, {os.cpu_count()} processors.",
        f"{_hours(everything)} hours of computing, {_bad(everything)} broken promises.",
        "",
        "## Not shown",
        "",
        *([f"- {finding}" for finding in unshown(everything)] or ["Nothing that was asked for is missing."]),
        *_again(overruled(lines)),
        *_seeds(parts["seeds"]),
        *_points(parts["points"]),
        *_storms(parts["storm"]),
        *_mutants(parts["mutants"]),
    ]
    return "\n".join(text) + "\n"


def _commits(lines: list[Line], engine: Callable[[str], str]) -> str:
    names = Counter(str(line["commit"]) for line in lines)
    if len(names) < 2:
        return f"Commit {next(iter(names), 'none')}."
    listed = ", ".join(f"{name} ({count} tests and mutants)" for name, count in names.items())
    return f"Commits {listed}; their `src/` is the same, {engine(next(iter(names)))}."


def _again(lines: list[Line]) -> list[str]:
    """List what was run again because its first run went wrong: a figure that was improved on is not hidden."""
    listed = [f"- {line['commit']}: {finding}" for line in lines for finding in wrong_in(line)]
    head = "These tests were run again, and the figures below are those of the last run. The first runs reported:"
    return ["", "## Run again", "", head, "", *listed] if listed else []


def _bad(lines: list[Line]) -> int:
    """Count broken promises: of schedules and crash points by their lines, of storms by the findings of the oracle."""
    return sum(line.get("bad", 0) + len(line.get("verdict", [])) for line in lines)


def _summed(lines: list[Line], name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in lines:
        found.update(line[name])
    return found


def _seeds(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    first, last = min(line["first"] for line in lines), max(line["last"] for line in lines)
    runs, steps = (sum(line[name] for line in lines) for name in ("runs", "steps"))
    finding = (
        f"{runs:,} runs (seeds {first:,} to {last:,}), {steps:,} points passed, {_hours(lines)} hours of computing"
    )
    return [
        "",
        "## Simulated schedules",
        "",
        f"{finding}, {_bad(lines)} broken promises.",
        "",
        *_tally("fault", _summed(lines, "faults")),
    ]


def _points(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    table = [[line["name"], f"{line['singles']:,}", f"{line['pairs']:,}", str(line["bad"])] for line in lines]
    singles, pairs = (sum(line[name] for line in lines) for name in ("singles", "pairs"))
    finding = f"Every point of {len(lines)} scenarios ({singles:,} runs), and every two points ({pairs:,} runs)"
    return [
        "",
        "## Crash points",
        "",
        f"{finding}; {_hours(lines)} hours of computing, {_bad(lines)} broken promises.",
        "",
        *_table(["scenario", "one crash", "two crashes", "broken promises"], table),
    ]


def _storms(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    table = [
        [
            line["storm"],
            line["database"],
            _counts(line["faults"]),
            _counts({**line["counts"], **line["measured"]}),
            f"{line['seconds']:.0f}",
            f"{line['lease_seconds']:g}",
            _late(line),
            "; ".join(line["verdict"]) or "nothing wrong",
        ]
        for line in lines
    ]
    head = ["test", "database", "faults", "result", "seconds", "lease", "re-pickup p50 / p99 / max", "oracle"]
    jobs = sum(line["counts"].get("jobs", 0) for line in lines)
    again = sum(line["repickups"]["count"] for line in lines)
    finding = f"{len(lines)} tests, {jobs:,} jobs, {again:,} re-pickups, {_hours(lines)} hours"
    return [
        "",
        "## Chaos tests on real processes and servers",
        "",
        f"{finding}, {_bad(lines)} broken promises.",
        REPICKUP,
        "",
        *_table(head, table),
        "",
        *_tally("fault of all chaos tests", _summed(lines, "faults")),
    ]


def _counts(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in found.items())


def _late(line: Line) -> str:
    found = line["repickups"]
    if not found["count"]:
        return f"none: {line['spared']}" if line["spared"] else "none"
    return f"{found['p50']:.2f} / {found['p99']:.2f} / {found['longest']:.2f} s of {found['count']:,}"


def _mutants(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    caught = sum(line["caught"] is not None for line in lines)
    table = [
        [line["name"], f"`{line['caught']}`" if line["caught"] else "SURVIVED", f"{line['seconds']:.0f}"]
        for line in lines
    ]
    return [
        "",
        "## Mutants",
        "",
        f"{caught} of {len(lines)} mutants were detected.",
        "",
        *_table(["mutant", "detected by", "seconds"], table),
    ]


def _hours(lines: list[Line]) -> str:
    return f"{sum(line['seconds'] for line in lines) / 3600:.1f}"


def _tally(head: str, found: Counter[str]) -> list[str]:
    return _table([head, "times"], [[name, f"{count:,}"] for name, count in sorted(found.items())])


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in row) + " |" for row in lines]


def main() -> None:
    """Write the document from a file of lines, and print what it does not show."""
    lines = [json.loads(text) for text in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    try:
        text = page(lines)
    except Refused as error:
        raise SystemExit(f"{sys.argv[1]}: {error}") from None
    PAGE.write_text(text, encoding="utf-8")
    for finding in unshown(standing(lines)):
        sys.stderr.write(f"not shown: {finding}\n")


if __name__ == "__main__":
    main()
