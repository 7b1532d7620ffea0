"""Counts and sizes as people read them."""

from __future__ import annotations

from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.status import CANCELLED, FINAL_MISSING

WORDS: Final = {
    states.PLANNED: "planned",
    states.LEASED: "asking",
    states.HEAD_DONE: "asking",
    states.RESUME_OK: "resuming",
    states.STREAMING: "streaming",
    states.FINALIZED: "finishing",
    states.INDEXED: "here",
    states.DEDUPED: "here (same content)",
    states.SKIPPED_DUPLICATE: "here before",
    states.FAILED: "failed",
    CANCELLED: "cancelled",
    FINAL_MISSING: "missing from disk",
}


def counted(counts: dict[str, int]) -> str:
    """Say counts in words: 12 here, 1 failed."""
    told: dict[str, int] = {}
    for state, count in counts.items():
        told[WORDS[state]] = told.get(WORDS[state], 0) + count
    return ", ".join(f"{count:,} {word}" for word, count in told.items()) or "nothing planned"


def size_of(size: int) -> str:
    """Say a number of bytes: 4.2 MB."""
    value = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1_000:  # noqa: PLR2004 — a step of the units
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1_000
    return f"{value:.1f} TB"


def shown(text: str) -> str:
    """Return a text as a terminal may show it: what cannot be printed would steer it."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)
