"""How a storm ends: faults stop, everything comes to rest, and the oracle judges what is left."""

from __future__ import annotations

import signal
import time
from collections import Counter

from tests.lab.oracle import Evidence, judge
from tests.storms.app import NARROW
from tests.storms.figures import SECOND, Proof, percentile, repickups
from tests.storms.storm import REST_SECONDS, Storm
from tests.waiting import until
from tests.workshop.looking import connected

UNFINISHED = (
    "SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM ready) + (SELECT count(*) FROM lease)"
    " + (SELECT count(*) FROM unsettled) + (SELECT count(*) FROM delivery WHERE status IN ('pending', 'sending'))"
)
# A relay's claim on a delivery lasts two minutes. One this old is of a relay that was struck, not of one at work.
CLAIM_US = 120 * SECOND
STALE_US = 3 * SECOND
REPICKUP_SECONDS = 2.0  # beyond the lease
WRONG_MAX = 20


def check_storm(storm: Storm, *, timely: bool = False) -> Proof:
    """Let a storm end and hold it against everything that was promised; `timely`: and against the clock."""
    calm(storm)
    proof = verdict(storm)
    proof.write()
    assert proof.verdict == [], "\n".join(proof.verdict)
    assert proof.counts["jobs"] > 0
    if timely and proof.repickup_p99_seconds is not None:
        assert proof.repickup_p99_seconds <= storm.lease + REPICKUP_SECONDS
    return proof


def calm(storm: Storm) -> None:
    """Let the submitter end, everything settle and the workers leave."""
    company = storm.company
    (storm.folder / "gate-enough").touch()
    if not company.submitter.running:
        company.hire_submitter()
    assert company.submitter.end() == 0, company.submitter.log[-2_000:]
    if not company.workers:
        company.hire()
    until(lambda: _is_over(storm), timeout=REST_SECONDS, every=0.05)
    leaving = company.workers
    for hand in leaving:
        hand.signal(signal.SIGTERM)
    assert [hand.end() for hand in leaving] == [0] * len(leaving)


def _is_over(storm: Storm) -> bool:
    if not storm.company.workers:
        raise RuntimeError(f"the last worker is gone:\n{storm.company.hands[-1].log[-4_000:]}")
    if not storm.patient:
        _age_claims(storm)
    return storm.look(UNFINISHED) == [(0,)]


def _age_claims(storm: Storm) -> None:
    """Have the claims of relays that were struck run out now, and not in two minutes."""
    stale = time.time_ns() // 1_000 + CLAIM_US - STALE_US
    with connected(storm.url) as connection:
        which = f"status = 'sending' AND due_at < {stale}"
        if list(connection.execute(f"SELECT 1 FROM delivery WHERE {which}")):  # noqa: S608
            connection.execute(f"UPDATE delivery SET due_at = 1 WHERE {which}")  # noqa: S608


def verdict(storm: Storm) -> Proof:
    """Judge what is left."""
    lines = storm.journal.lines
    wrong = judge(Evidence(storm.look, lines, {"narrow": NARROW}))
    wrong += _undone(storm) + _unsent(storm)
    found = repickups(storm.look, storm.moments)
    counted = Counter(line[0] for line in lines)
    return Proof(
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
        repickups=len(found),
        repickup_p99_seconds=percentile(found, 0.99),
        repickup_max_seconds=max(found, default=None),
        verdict=wrong[:WRONG_MAX],
        measured=storm.measured,
    )


def _undone(storm: Storm) -> list[str]:
    """Everything in a storm can be done, so whatever was acknowledged is DONE."""
    ended = storm.look("SELECT status, count(*) FROM outcome WHERE status <> 'DONE' GROUP BY status")
    return [f"S3: {count} tasks are {status}" for status, count in ended]


def _unsent(storm: Storm) -> list[str]:
    """Every letter that is marked is in the folder, and no other is."""
    marked = {name for (name,) in storm.look("SELECT notification_id FROM delivery WHERE status = 'sent'")}
    found = {path.name for path in (storm.folder / "letters").glob("*.json")}
    return [f"S14: {name} is marked or there, not both" for name in sorted(marked ^ found)]
