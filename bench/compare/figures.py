"""What was measured: samples as they come, kept as JSON, and the medians over the repeats. Pure but for the file."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of one metric. `value` is None where a limit passed first; `note` names it."""

    database: str
    peer: str
    metric: str
    repeat: int
    value: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric of a peer over the repeats. `median` is None if most repeats ended at a limit."""

    median: float | None
    least: float | None
    most: float | None
    note: str
    count: int


@dataclass(slots=True)
class Results:
    """Everything a report needs."""

    facts: dict[str, Any]
    samples: list[Sample] = field(default_factory=list)
    # (database, peer, workload): why there is no figure.
    missing: list[tuple[str, str, str, str]] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        """Keep a sample."""
        self.samples.append(sample)

    def peers(self, database: str) -> list[str]:
        """Return who was measured on a database, in the order of first appearance, ours first."""
        found = dict.fromkeys(sample.peer for sample in self.samples if sample.database == database)
        return sorted(found, key=lambda name: name != "leasehold")

    def summary(self, database: str, peer: str, metric: str) -> Summary | None:
        """Return a metric over the repeats, or None if it was never measured."""
        chosen = [
            sample
            for sample in self.samples
            if (sample.database, sample.peer, sample.metric) == (database, peer, metric)
        ]
        return summarise(chosen)

    def median(self, database: str, peer: str, metric: str) -> float | None:
        """Return just the median."""
        found = self.summary(database, peer, metric)
        return found.median if found else None

    def save(self, path: Path) -> None:
        """Write everything, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        unfinished.replace(path)


def load(path: Path) -> Results:
    """Read what `save` wrote."""
    found = json.loads(path.read_text(encoding="utf-8"))
    missing = [(database, peer, workload, reason) for database, peer, workload, reason in found["missing"]]
    return Results(found["facts"], [Sample(**sample) for sample in found["samples"]], missing)


def summarise(samples: list[Sample]) -> Summary | None:
    """Return median and spread; a sample without a value counts as larger than all others."""
    if not samples:
        return None
    values = [sample.value for sample in samples if sample.value is not None]
    notes = ", ".join(dict.fromkeys(sample.note for sample in samples if sample.note))
    ranked = [*values, *[float("inf")] * (len(samples) - len(values))]
    middle = statistics.median_low(ranked) if len(values) < len(samples) else statistics.median(ranked)
    return Summary(
        median=None if middle == float("inf") else middle,
        least=min(values, default=None),
        most=max(values, default=None),
        note=notes,
        count=len(samples),
    )


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that at least this share of all are not above."""
    ranked = sorted(values)
    return ranked[max(0, min(len(ranked) - 1, -int(-share * len(ranked) // 1) - 1))]
