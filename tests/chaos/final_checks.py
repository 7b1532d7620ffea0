"""How a storm ends: faults stop, everything comes to rest, and the oracle judges what is left.

Whatever is wrong stands in the verdict, and so in the line of the record, before the test fails of it.
"""

from __future__ import annotations

import signal
import time
from collections import Counter

from tests.chaos.figures import Proof, Repickups, repickups
from tests.chaos.storm import REST_SECONDS, Storm
from tests.support.apps.chaos import NARROW, expected
from tests.support.oracle.oracle import Evidence, judge
from tests.support.wait import until

UNFINISHED = (
    "SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM ready) + (SELECT count(*) FROM lease)"
    " + (SELECT count(*) FROM unsettled) + (SELECT count(*) FROM delivery WHERE status IN ('pending', 'sending'))"
)
REPICKUP_SECONDS = 2.0  # beyond the lease
WRONG_MAX = 20


def check_storm(storm: Storm) -> Proof:
    """Let a storm end and hold it against everything that was promised."""
    calm(storm)
    return check_verdict(storm)


def check_verdict(storm: Storm) -> Proof:
    """Judge a storm that is over."""
    proof = verdict(storm)
    proof.write()
    assert proof.verdict == [], "\n".join(proof.verdict)
    assert proof.counts["jobs"] > 0
    return proof


def calm(storm: Storm) -> None:
    """Let the submitter end, everything settle and the workers leave."""
    processes = storm.processes
    (storm.folder / "gate-enough").touch()
    if not processes.submitter.running:
        processes.start_submitter()
    assert processes.submitter.end() == 0, processes.submitter.log[-2_000:]
    if not processes.workers:
        processes.start_worker()
    until(lambda: _is_over(storm), timeout=REST_SECONDS, every=0.05)
    leaving = processes.workers
    for worker in leaving:
        worker.signal(signal.SIGTERM)
    for worker in leaving:
        worker.end()


def _is_over(storm: Storm) -> bool:
    if not storm.processes.workers:
        raise RuntimeError(f"the last worker is gone:\n{storm.processes.all[-1].log[-4_000:]}")
    return storm.look(UNFINISHED) == [(0,)]


def verdict(storm: Storm) -> Proof:
    """Judge what is left, and how everybody ended."""
    lines = storm.journal.lines
    counted = Counter(line[0] for line in lines)
    proof = Proof(
        storm=storm.name,
        database="sqlite" if storm.url.startswith("sqlite") else "postgres",
        counts={
            "jobs": counted["acked"],
            "attempts": counted["began"],
            "reclaimed": storm.look("SELECT count(*) FROM event WHERE name = 'reclaimed'")[0][0],
        },
        faults=dict(storm.faults),
        seconds=round(time.monotonic() - storm.started, 1),
        lease_seconds=storm.lease,
        repickups=Repickups.of(repickups(storm.look, storm.moments, storm.outages)),
        verdict=judge(
            Evidence(
                storm.look, lines, {"narrow": NARROW}, has_audit_triggers=storm.has_audit_triggers, expected=expected
            )
        ),
        measured=storm.measured,
        spared=storm.spared,
    )
    proof.verdict += _undone(storm) + _unsent(storm) + storm.processes.failures()
    proof.verdict += late(proof, owed=storm.owed, long=storm.long)
    del proof.verdict[WRONG_MAX:]
    return proof


def late(proof: Proof, *, owed: int, long: bool) -> list[str]:
    """Return what is wrong with the re-pickups: too few for the faults, or, in a long storm, too late."""
    found, p99, reclaimed = [], proof.repickups.p99, proof.counts["reclaimed"]
    if reclaimed < owed:
        found.append(f"L1: {owed} faults took leases, and {reclaimed} leases were taken back")
    if p99 is None and (owed or (long and not proof.spared)):
        found.append("L1: nothing was picked up again, and no reason is given")
    bound = proof.lease_seconds + REPICKUP_SECONDS
    if long and p99 is not None and p99 > bound:
        found.append(f"L1: p99 of re-pickup is {p99:.2f} s, its bound {bound:g} s")
    return found


def _undone(storm: Storm) -> list[str]:
    """Everything in a storm can be done, so whatever was acknowledged is DONE; and something was."""
    ended = storm.look("SELECT status, count(*) FROM outcome WHERE status <> 'DONE' GROUP BY status")
    none = [] if storm.look("SELECT 1 FROM outcome LIMIT 1") else ["nothing was done at all"]
    return none + [f"S3: {count} tasks are {status}" for status, count in ended]


def _unsent(storm: Storm) -> list[str]:
    """Every letter that is marked is in the folder, and no other is."""
    marked = {name for (name,) in storm.look("SELECT notification_id FROM delivery WHERE status = 'sent'")}
    found = {path.name for path in (storm.folder / "letters").glob("*.json")}
    return [f"S14: {name} is marked or there, not both" for name in sorted(marked ^ found)]
