"""How many of the samples are hidden, by class; and which of those that are not held out survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from bench.redact.samples import Sample, samples
from leasehold.redact import Redactor

PART_MIN: Final = 4


def survives(redactor: Redactor, sample: Sample) -> bool:
    """Whether a line of the secret, or either half of it, is left."""
    clean = redactor.redact(sample.text).text
    return any(part in clean for part in _parts(sample.secret))


def _parts(secret: str) -> Iterator[str]:
    for line in secret.split("\n"):
        half = max(PART_MIN, len(line) // 2)
        yield from (line[:half], line[-half:])


def counted(redactor: Redactor, *, held_out: bool) -> tuple[Counter[str], list[Sample]]:
    """Return the number of samples by class, and those that survive."""
    chosen = [sample for sample in samples() if sample.held_out == held_out]
    left = [sample for sample in chosen if survives(redactor, sample)]
    return Counter(sample.name for sample in chosen), left
