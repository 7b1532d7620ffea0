"""The goals, as ratios of one run. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bench.compare.figures import Results
from bench.compare.peers import BY_NAME, POSTGRES, SQLITE

OURS = "leasehold"
ALL = "everything"
# The workload that a metric comes from, as failures name it.
WORKLOAD = {
    "drain 1": "drain1",
    "drain 2": "drain2",
    "bulk": "bulk",
    "single p50": "single",
    "start p50": "latency",
    "steps": "steps",
    "recovery": "recovery",
}
RECOVERY_SECONDS_MAX = 1.5  # "about a second"


@dataclass(frozen=True, slots=True)
class Judged:
    """One goal. `value` is None where one side of the ratio was not measured.

    `without`: who should have been compared as well and failed or could not be installed, in all repeats or in some.
    """

    name: str
    other: str
    value: float | None
    sign: str
    bound: float
    without: tuple[str, ...] = ()

    @property
    def reached(self) -> bool | None:
        """Whether it was reached; None: nothing to compare."""
        if self.value is None:
            return None
        return self.value >= self.bound if self.sign == "≥" else self.value <= self.bound


def judge(results: Results) -> list[Judged]:
    """Compare everything that was promised."""
    python = [name for name, peer in BY_NAME.items() if peer.is_python and not peer.is_ours]
    others = [name for name, peer in BY_NAME.items() if not peer.is_ours]
    return [
        *(_faster(results, POSTGRES, metric, python, 2.0) for metric in ("drain 1", "drain 2")),
        *(_faster(results, POSTGRES, metric, ["graphile-worker"], 1.3) for metric in ("drain 1", "drain 2")),
        _faster(results, POSTGRES, "bulk", others, 2.0),
        *(
            _not_slower(results, database, metric, others)
            for metric in ("single p50", "start p50")
            for database in (POSTGRES, SQLITE)
        ),
        _faster(results, POSTGRES, "steps", ["dbos"], 20.0),
        _faster(results, POSTGRES, "steps", ["absurd-sdk"], 10.0),
        Judged("recovery", "seconds", results.median(POSTGRES, OURS, "recovery"), "≤", RECOVERY_SECONDS_MAX),
        _recovers_first(results, others),
        *(_keeps_pace(results, POSTGRES, metric) for metric in ("history", "snapshot")),
        _faster(results, SQLITE, "drain 1", ["huey"], 20.0),
    ]


def best(results: Results, database: str, metric: str, among: list[str], *, least: bool) -> tuple[str, float] | None:
    """Return the best of these and its median."""
    found = {name: value for name in among if (value := results.median(database, name, metric)) is not None}
    if not found:
        return None
    name = (min if least else max)(found, key=found.__getitem__)
    return name, found[name]


def _faster(results: Results, database: str, metric: str, among: list[str], bound: float) -> Judged:
    """Compare rates: more is better."""
    return _ratio(results, database, metric, among, "≥", bound)


def _not_slower(results: Results, database: str, metric: str, among: list[str]) -> Judged:
    """Compare times: less is better."""
    return _ratio(results, database, metric, among, "≤", 1.0)


def _ratio(results: Results, database: str, metric: str, among: list[str], sign: str, bound: float) -> Judged:
    other = best(results, database, metric, among, least=sign == "≤")
    ours = results.median(database, OURS, metric)
    name, theirs = other or ("nobody", 0.0)
    value = ours / theirs if ours is not None and theirs else None
    return Judged(f"{database}: {metric}", name, value, sign, bound, absent(results, database, metric, among))


def absent(results: Results, database: str, metric: str, among: list[str]) -> tuple[str, ...]:
    """Return who of these was to be measured and was not, or not in every repeat."""
    failed = {peer for where, peer, what, _ in results.missing if where == database and what in (WORKLOAD[metric], ALL)}
    return tuple(name for name in among if name in failed)


def _recovers_first(results: Results, among: list[str]) -> Judged:
    """Compare with the fastest peer; one that did not recover within the limit took longer than that."""
    ours = results.median(POSTGRES, OURS, "recovery")
    limit = float(results.facts["recovery_limit"])
    tried = [name for name in among if results.summary(POSTGRES, name, "recovery")]
    found = best(results, POSTGRES, "recovery", tried, least=True)
    name, theirs = found or ("all, at the limit", limit)
    value = ours / theirs if ours is not None and tried else None
    return Judged("postgres: recovery", name, value, "≤", 1.0, absent(results, POSTGRES, "recovery", among))


def _keeps_pace(results: Results, database: str, metric: str) -> Judged:
    """Compare with our own drain of small tables."""
    ours, small = (results.median(database, OURS, name) for name in (metric, "drain 1"))
    value = ours / small if ours is not None and small else None
    return Judged(f"{database}: {metric}", "our own drain", value, "≥", 0.8)
