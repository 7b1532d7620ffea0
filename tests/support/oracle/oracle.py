"""The oracle: holds the tables, the journal, the witness and the eye against each other, and against the promises.

It reads tables with plain SQL that both databases understand and uses nothing of the engine: the engine is never its
own judge. `judge` returns what is wrong, in words; nothing wrong is an empty list. S1 to S14 and L1 are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.support.oracle import leases, outcomes, outside, states
from tests.support.oracle.evidence import Evidence
from tests.support.oracle.record import s8_record

__all__ = ["CHECKS", "Evidence", "judge"]

CHECKS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "S1": leases.s1_fences,
    "S2": leases.s2_stale_writes,
    "S3": outcomes.s3_nothing_lost,
    "S4": outside.s4_results,
    "S5": outcomes.s5_settled,
    "S6": outcomes.s6_journal,
    "S7": outcomes.s7_sequences,
    "S8": s8_record,
    "S9": states.s9_budgets,
    "S10": outcomes.s10_cancels,
    "S11": leases.s11_limits,
    "S12": leases.s12_attempts,
    "S13": outcomes.s13_revivals,
    "S14": outside.s14_deliveries,
    "wholes": outcomes.wholes,
    "moves": states.moves,
    "links": states.links,
    "L1": leases.l1_liveness,
}


def judge(evidence: Evidence) -> list[str]:
    """Return everything that is wrong."""
    return [f"{name}: {finding}" for name, check in CHECKS.items() for finding in check(evidence)]
