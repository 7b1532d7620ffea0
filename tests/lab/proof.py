"""What the long tests have shown, as lines of JSON in the file that `LEASEHOLD_PROOF` names; and as `docs/proof.md`.

`make soak` and `make saboteurs` collect the lines; `python -m tests.lab.proof FILE` writes the document from them. A
figure stands there only if a run has written it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proof.md"
Line = dict[str, Any]


def record(part: str, **fields: object) -> None:
    """Append a line, if anybody collects them."""
    if path := os.environ.get("LEASEHOLD_PROOF"):
        text = json.dumps({"part": part, "at": round(time.time()), "commit": commit(), **fields}, sort_keys=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, text.encode() + b"\n")
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
    return found.stdout.strip() or "unknown"


def page(lines: Iterable[Line]) -> str:
    """Write the document."""
    parts: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        parts[line["part"]].append(line)
    everything = [line for found in parts.values() for line in found]
    commits = sorted({str(line["commit"]) for line in everything})
    text = [
        "# Proof",
        "",
        "What `make soak` and `make saboteurs` have shown. Every figure is from the runs of these commits.",
        "",
        f"Commits: {', '.join(commits)}. Python {platform.python_version()}, {os.cpu_count()} processors.",
        *_seeds(parts["seeds"]),
        *_points(parts["points"]),
        *_storms(parts["storm"]),
        *_saboteurs(parts["saboteurs"]),
    ]
    return "\n".join(text) + "\n"


def _seeds(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    faults: dict[str, int] = defaultdict(int)
    for line in lines:
        for name, count in line["faults"].items():
            faults[name] += count
    first, last = min(line["first"] for line in lines), max(line["last"] for line in lines)
    runs, steps, bad = (sum(line[name] for line in lines) for name in ("runs", "steps", "bad"))
    table = [[name, f"{count:,}"] for name, count in sorted(faults.items())]
    said = f"{runs:,} runs (seeds {first:,} to {last:,}), {steps:,} points passed, {_hours(lines)} hours of computing"
    return [
        "",
        "## Simulated schedules",
        "",
        f"{said}, {bad} broken promises.",
        "",
        *_table(["fault", "times"], table),
    ]


def _points(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    table = [[line["name"], f"{line['singles']:,}", f"{line['pairs']:,}", str(line["bad"])] for line in lines]
    return [
        "",
        "## Crash points",
        "",
        f"Every point of {len(lines)} scenarios, and every two points; {_hours(lines)} hours of computing.",
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
            _late(line),
            "; ".join(line["verdict"]) or "nothing wrong",
        ]
        for line in lines
    ]
    head = ["storm", "database", "faults", "what came of it", "seconds", "re-pickup p99 (lease)", "oracle"]
    said = "Re-pickup: from a fault to the next claim of a task that it took from its worker, whatever took it back."
    return ["", "## Storms on real processes and servers", "", said, "", *_table(head, table)]


def _counts(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in found.items())


def _late(line: Line) -> str:
    late = line["repickup_p99_seconds"]
    return "" if late is None else f"{late:.2f} s of {line['repickups']:,} ({line['lease_seconds']:g} s)"


def _saboteurs(lines: list[Line]) -> list[str]:
    if not lines:
        return []
    caught = sum(line["caught"] is not None for line in lines)
    table = [
        [line["name"], f"`{line['caught']}`" if line["caught"] else "SURVIVED", f"{line['seconds']:.0f}"]
        for line in lines
    ]
    return [
        "",
        "## Saboteurs",
        "",
        f"{caught} of {len(lines)} broken builds were found out.",
        "",
        *_table(["build", "found by", "seconds"], table),
    ]


def _hours(lines: list[Line]) -> str:
    return f"{sum(line['seconds'] for line in lines) / 3600:.1f}"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines]


def main() -> None:
    """Write the document from a file of lines."""
    lines = [json.loads(text) for text in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(page(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
