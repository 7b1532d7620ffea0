"""Counts of a collection as people read them."""

from collections import Counter
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.status import CANCELLED, FINAL_MISSING
from leasehold.pipelines.shell.text import counts_text

LABELS: Final = {
    states.PLANNED: "planned",
    states.LEASED: "connecting",
    states.HEAD_DONE: "connecting",
    states.RESUME_OK: "resuming",
    states.STREAMING: "downloading",
    states.FINALIZED: "finishing",
    states.INDEXED: "downloaded",
    states.DEDUPED: "duplicate",
    states.SKIPPED_DUPLICATE: "already downloaded",
    states.FAILED: "failed",
    CANCELLED: "cancelled",
    FINAL_MISSING: "missing from disk",
}
PLURALS: Final = {"duplicate": "duplicates"}


def state_counts(counts: dict[str, int]) -> str:
    """Return counts by state: 3 downloaded, 1 duplicate, 1 failed."""
    labelled: Counter[str] = Counter()
    for state, count in counts.items():
        labelled[LABELS[state]] += count
    return counts_text({PLURALS.get(label, label) if n > 1 else label: n for label, n in labelled.items()})
