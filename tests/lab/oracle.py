"""The oracle: holds the tables, the journal, the witness and the eye against each other, and against the promises.

It reads tables with plain SQL that both databases understand and uses nothing of the engine: the engine is never its
own judge. `judge` returns what is wrong, in words; nothing wrong is an empty list. S1 to S14 and L1 are checked; of S9
the table, which stays empty until budgets are built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.lab import of_ends, of_leases, of_outside, of_states
from tests.lab.evidence import Evidence
from tests.lab.record import s8_record

__all__ = ["CHECKS", "Evidence", "judge"]

CHECKS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "S1": of_leases.s1_fences,
    "S2": of_leases.s2_stale_writes,
    "S3": of_ends.s3_nothing_lost,
    "S4": of_outside.s4_results,
    "S5": of_ends.s5_settled,
    "S6": of_ends.s6_journal,
    "S7": of_ends.s7_sequences,
    "S8": s8_record,
    "S9": of_ends.s9_budgets,
    "S10": of_ends.s10_cancels,
    "S11": of_leases.s11_limits,
    "S12": of_leases.s12_attempts,
    "S13": of_ends.s13_revivals,
    "S14": of_outside.s14_deliveries,
    "wholes": of_ends.wholes,
    "moves": of_states.moves,
    "L1": of_leases.l1_liveness,
}


def judge(evidence: Evidence) -> list[str]:
    """Return everything that is wrong."""
    return [f"{name}: {said}" for name, check in CHECKS.items() for said in check(evidence)]
