"""What was asked for (issue 4), held against what the lines show: whatever is missing is named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]
SEEDS = 1_000_000
SCENARIOS = 30
MUTANTS = 30
SNAPSHOT_SECONDS = 120
BOUND_SECONDS = 2.0
BOTH = ("sqlite", "postgres")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A storm, with how many faults of which name."""

    storm: str
    databases: tuple[str, ...]
    fault: str
    times: int = 1


WANTED = (
    Wanted("SIGKILL", BOTH, "SIGKILL", 1_000),
    Wanted("SIGSTOP", BOTH, "SIGSTOP", 200),
    Wanted("SIGTERM", BOTH, "SIGTERM"),
    Wanted("PostgreSQL restarts", ("postgres",), "stop -m immediate", 100),
    Wanted("a standby promoted, turn 1", ("postgres",), "primary killed"),
    Wanted("connection cuts", ("postgres",), "cuts"),
    Wanted("connection cuts", ("postgres",), "cut at server CommandComplete COMMIT"),
    Wanted("pgbouncer", ("postgres",), "SIGKILL"),
    Wanted("full disk", ("sqlite",), "disk full"),
    Wanted("full disk, tmpfs", BOTH, "disk full"),
    Wanted("fsync errors", ("sqlite",), "fsync errors"),
    Wanted("power loss", ("sqlite",), "power cut"),
    Wanted("clocks jumping, libfaketime", BOTH, "clock jump"),
    Wanted("many live leases", BOTH, "expired", 100_000),
    Wanted("old snapshot", BOTH, "snapshot held open"),
)


def unshown(lines: list[Line]) -> list[str]:
    """Return what the lines that count do not show."""
    parts = {name: [line for line in lines if line["part"] == name] for name in ("seeds", "points", "storm", "mutants")}
    return [
        *_of_the_tree(lines),
        *_of_seeds(parts["seeds"]),
        *_of_points(parts["points"]),
        *(finding for wanted in WANTED for finding in _of_wanted(wanted, parts["storm"])),
        *(finding for line in parts["storm"] for finding in _of_storm(line)),
        *_of_mutants(parts["mutants"]),
    ]


def wrong_in(line: Line) -> list[str]:
    """Return the faults that one line alone shows."""
    if line["part"] == "storm":
        return list(_of_storm(line))
    if line["part"] == "mutants":
        return [f"The mutant '{line['name']}' survived."] if line["caught"] is None else []
    what = f"Seeds {line['first']:,} to {line['last']:,}" if line["part"] == "seeds" else f"Scenario '{line['name']}'"
    return [f"{what}: {line['bad']} broken promises."] if line["bad"] else []


def _of_the_tree(lines: list[Line]) -> Iterator[str]:
    if any(str(line["commit"]).endswith("-dirty") for line in lines):
        yield "The tree had changes that are in no commit, so nobody can repeat these runs."


def _of_seeds(lines: list[Line]) -> Iterator[str]:
    runs, bad = sum(line["runs"] for line in lines), sum(line["bad"] for line in lines)
    if runs < SEEDS:
        yield f"{SEEDS:,} simulated schedules: {runs:,} were run."
    if bad:
        yield f"Simulated schedules that break no promise: {bad} did."


def _of_points(lines: list[Line]) -> Iterator[str]:
    if len(lines) < SCENARIOS:
        yield f"Every crash point of {SCENARIOS} scenarios: {len(lines)} were run."
    for line in lines:
        if line["bad"] or not line["singles"] or not line["pairs"]:
            counted = f"{line['singles']} single and {line['pairs']} double crashes, {line['bad']} broken promises"
            yield f"Every crash point of the scenario '{line['name']}': {counted}."


def _of_wanted(wanted: Wanted, lines: list[Line]) -> Iterator[str]:
    for database in wanted.databases:
        found = [line for line in lines if (line["storm"], line["database"]) == (wanted.storm, database)]
        times = sum(line["faults"].get(wanted.fault, 0) for line in found)
        if times < wanted.times:
            asked = f"{wanted.times:,} × {wanted.fault}"
            yield f"The storm '{wanted.storm}' on {database} with {asked}: {times:,} were made."


def _of_storm(line: Line) -> Iterator[str]:
    """Return the faults of a storm: it ended badly, too late, or without a reason why nothing was to be picked up."""
    name, found = f"The storm '{line['storm']}' on {line['database']}", line["repickups"]
    bound = line["lease_seconds"] + BOUND_SECONDS
    if line["verdict"]:
        yield f"{name} without a fault of ours: {len(line['verdict'])} things are wrong."
    if not found["count"] and not line["spared"]:
        yield f"{name}: p99 of re-pickup; nothing was picked up again."
    if found["count"] and found["p99"] > bound:
        yield f"{name}: p99 of re-pickup within {bound:g} s; it was {found['p99']:.2f} s."
    if line["storm"] == "old snapshot" and line["measured"].get("snapshot seconds", 0) < SNAPSHOT_SECONDS:
        yield f"{name} for minutes: it was open for {line['measured'].get('snapshot seconds', 0):g} s."


def _of_mutants(lines: list[Line]) -> Iterator[str]:
    if len(lines) < MUTANTS:
        yield f"{MUTANTS} mutants: {len(lines)} were tried."
    for line in lines:
        if line["caught"] is None:
            yield f"The mutant '{line['name']}' found out: it survived."
