"""Builds of the engine that are broken on purpose, each in one place: the suite is as good as what it finds in them.

A build is a text of one file and what stands there instead; `tests` says where it should be found out, nearest first.
"""

from __future__ import annotations

from dataclasses import dataclass

SEEDS = "tests/simulation/test_simulation.py::test_no_schedule_breaks_a_promise"
POINTS = "tests/simulation/test_crash_points.py"
MODEL = "tests/store/test_model.py"
SQLITE = "store/sql/sqlite"
POSTGRES = "store/sql/postgres"


@dataclass(frozen=True)
class Build:
    """One broken build."""

    name: str
    file: str
    good: str
    bad: str
    tests: tuple[str, ...]


BUILDS = (
    Build(
        "SQLite: settle without the fence",
        f"{SQLITE}/settle.sql",
        " AND lease.fence = item.value ->> 'fence'",
        "",
        (MODEL, SEEDS),
    ),
    Build(
        "PostgreSQL: settle without the fence",
        f"{POSTGRES}/settle.sql",
        "AND lease.fence = item.fence\n",
        "\n",
        ("tests/store/test_settle.py", MODEL),
    ),
    Build(
        "SQLite: settle after the lease's end",
        f"{SQLITE}/settle.sql",
        "WHERE lease.expires_at > leasehold_now();",
        ";",
        ("tests/store/test_settle.py", MODEL),
    ),
    Build(
        "PostgreSQL: settle after the lease's end",
        f"{POSTGRES}/settle.sql",
        "      AND lease.expires_at - clock.now > 0\n",
        "",
        ("tests/store/test_settle.py", MODEL),
    ),
    Build(
        "SQLite: settle without its event",
        f"{SQLITE}/settle.sql",
        "FROM temp.leasehold_ended;\n\nSELECT task_id, fence, status, onward",
        "FROM temp.leasehold_ended WHERE false;\n\nSELECT task_id, fence, status, onward",
        (POINTS,),
    ),
    Build(
        "PostgreSQL: settle without its event",
        f"{POSTGRES}/settle.sql",
        "worker, detail, link FROM linked\n)",
        "worker, detail, link FROM linked WHERE false\n)",
        ("tests/store/test_settle.py", MODEL),
    ),
    Build(
        "the end of a stage is not passed on",
        f"{SQLITE}/settle.sql",
        "WHERE onward AND status <> 'RETRY'",
        "WHERE false",
        (POINTS,),
    ),
    Build(
        "a slot is not freed",
        f"{SQLITE}/settle.sql",
        "(SELECT task_id FROM temp.leasehold_ended WHERE limited)",
        "(SELECT task_id FROM temp.leasehold_ended WHERE false)",
        ("tests/store/test_limits.py", POINTS),
    ),
    Build(
        "a cancelled task ends as it likes",
        f"{POSTGRES}/settle.sql",
        "CASE WHEN lease.cancel_reason IS NOT NULL THEN 'CANCELLED' WHEN item.clash",
        "CASE WHEN item.clash",
        ("tests/store/test_cancel.py", MODEL),
    ),
    Build(
        "messages are written whatever came of the task",
        f"{SQLITE}/settle.sql",
        "WHERE ended.status = 'DONE' AND ended.deliveries IS NOT NULL",
        "WHERE ended.deliveries IS NOT NULL",
        (POINTS, "tests/store/test_deliveries.py", "tests/app/test_deliver.py"),
    ),
    Build(
        "a conflicting message is dropped",
        f"{POSTGRES}/settle.sql",
        "DO UPDATE SET message = delivery.message  -- one that came to stand since our snapshot\n"
        "    WHERE leasehold.once_more(delivery.message <> EXCLUDED.message OR delivery.provider <> EXCLUDED.provider)",
        "DO NOTHING",
        ("tests/store/test_settle.py",),
    ),
    Build(
        "SQLite: attempts are not counted by the claim",
        f"{SQLITE}/claim.sql",
        "ready.attempt + 1, ready.fence + 1, ready.epoch",
        "ready.attempt, ready.fence + 1, ready.epoch",
        ("tests/store/test_claim.py", "tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "PostgreSQL: attempts are not counted by the claim",
        f"{POSTGRES}/claim.sql",
        "attempt + 1 AS attempt",
        "attempt AS attempt",
        ("tests/store/test_claim.py", "tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "the fence does not grow",
        f"{SQLITE}/claim.sql",
        "ready.attempt + 1, ready.fence + 1, ready.epoch",
        "ready.attempt + 1, max(1, ready.fence), ready.epoch",
        ("tests/store/test_claim.py", "tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "two claims take the same rows",
        f"{POSTGRES}/claim.sql",
        "        FOR UPDATE SKIP LOCKED\n",
        "",
        ("tests/store/test_claim.py",),
    ),
    Build(
        "a claim's LIMIT in a subquery that the planner may run again",
        f"{POSTGRES}/claim.sql",
        "WHERE ctid = ANY(ARRAY(SELECT place FROM chosen))",
        "WHERE ctid IN (SELECT row.ctid FROM lane CROSS JOIN LATERAL (SELECT ready.ctid FROM leasehold.ready"
        " WHERE ready.queue = lane.queue ORDER BY random() LIMIT %(most)s::integer FOR UPDATE SKIP LOCKED) AS row)",
        ("tests/store/test_claim.py", MODEL),
    ),
    Build(
        "a paused queue is claimed from",
        f"{SQLITE}/claim.sql",
        "  AND NOT EXISTS (SELECT 1 FROM main.queue WHERE queue.name = lane.value ->> 'queue' AND queue.paused)\n",
        "",
        ("tests/store/test_limits.py", "tests/store/test_claim.py"),
    ),
    Build(
        "a lease is taken back before its time",
        f"{SQLITE}/reclaim.sql",
        "WHERE item.value ->> 'why' <> 'expired' OR lease.expires_at <= leasehold_now();",
        ";",
        ("tests/store/test_reclaim.py",),
    ),
    Build(
        "a lease is taken back from another",
        f"{POSTGRES}/reclaim.sql",
        " AND lease.fence = item.fence\n    JOIN leasehold.task",
        "\n    JOIN leasehold.task",
        ("tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "a task that kills its workers is tried for ever",
        f"{SQLITE}/reclaim.sql",
        "WHEN task.on_lost = 'bury' OR lease.attempt >= task.attempts_max THEN 'ERROR'",
        "WHEN task.on_lost = 'bury' THEN 'ERROR'",
        ("tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "a released attempt is spent",
        f"{SQLITE}/reclaim.sql",
        "CASE WHEN why = 'released' THEN attempt - 1 ELSE attempt END",
        "attempt",
        ("tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "a burial by a sweep leaves no letter",
        f"{SQLITE}/reclaim.sql",
        "WHERE dead.status = 'ERROR';",
        "WHERE false;",
        ("tests/store/test_dead_letters.py", POINTS),
    ),
    Build(
        "an expired lease is renewed",
        f"{SQLITE}/renew.sql",
        " AND lease.expires_at > leasehold_now()",
        "",
        ("tests/store/test_settle.py", "tests/store/test_reclaim.py", MODEL),
    ),
    Build(
        "SQLite: a stale attempt starts an effect",
        f"{SQLITE}/ledger.sql",
        "LEFT JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key'\n"
        "WHERE lease.expires_at > leasehold_now();",
        "LEFT JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key';",
        ("tests/store/test_ledger.py",),
    ),
    Build(
        "an intent without a result is acted upon again",
        f"{SQLITE}/ledger.sql",
        "THEN 'act' ELSE 'doubt' END",
        "THEN 'act' ELSE 'act' END",
        (POINTS,),
    ),
    Build(
        "a recorded result is written over",
        f"{POSTGRES}/ledger.sql",
        "WHERE effect.job_id = ended.job_id AND effect.key = ended.key AND effect.result IS NULL\n)\nSELECT",
        "WHERE effect.job_id = ended.job_id AND effect.key = ended.key\n)\nSELECT",
        ("tests/store/test_ledger.py",),
    ),
    Build(
        "what is in doubt is simply done again",
        "runtime/effects.py",
        "        raise self._open[intent.key]\n",
        "        return None\n",
        (POINTS,),
    ),
    Build(
        "a handler may swallow a doubt",
        "runtime/attempt.py",
        "if self.task.effects.doubt is not None:",
        "if False:",
        ("tests/runtime/test_effects.py",),
    ),
    Build(
        "a letter is revived as often as one presses",
        f"{POSTGRES}/dead_take.sql",
        " AND state = 'open'",
        "",
        ("tests/store/test_revival.py", "tests/store/test_dead_letters.py"),
    ),
    Build(
        "a revival without evidence",
        "model/revival.py",
        "    if not case.evidenced:\n",
        "    if False:\n",
        ("tests/model", "tests/store/test_dead_letters.py"),
    ),
    Build(
        "an old outcome is forgotten by a revival",
        f"{SQLITE}/revive.sql",
        "FROM main.outcome WHERE outcome.task_id IN (SELECT task_id FROM temp.leasehold_revived);\n\nDELETE",
        "FROM main.outcome WHERE false;\n\nDELETE",
        (POINTS,),
    ),
    Build(
        "marked before it is sent",
        "runtime/courier.py",
        "            mark = _send(taken, carrier) if is_held() else outbox.released(taken)\n",
        "            self._store.deliveries.mark(outbox.sent(taken, f'id-{taken.letter.token[:8]}'))\n"
        "            mark = _send(taken, carrier) if is_held() else outbox.released(taken)\n",
        (POINTS,),
    ),
    Build(
        "sent again without a look",
        "runtime/courier.py",
        "_look(taken, carrier) if taken.may_be_sent else None",
        "None",
        (POINTS,),
    ),
    Build(
        "an outbox read by a cursor: what was begun is never looked at again",
        f"{SQLITE}/delivery_claim.sql",
        "WHERE provider = :provider AND due_at <= leasehold_now()",
        "WHERE provider = :provider AND fence = 0 AND due_at <= leasehold_now()",
        (POINTS,),
    ),
    Build(
        "a relay marks what another has taken over",
        f"{POSTGRES}/delivery_mark.sql",
        " AND delivery.fence = item.fence",
        "",
        ("tests/store/test_deliveries.py",),
    ),
    Build(
        "the clock of whoever writes",
        "store/sqlite.py",
        "            self._now = self._read_clock(host, write=write)\n",
        "            self._now = host.wall\n",
        ("tests/store/test_clock.py", "tests/store/test_claim.py"),
    ),
    Build(
        "no jitter",
        "model/retry.py",
        '    return int.from_bytes(digest[:8], "big") / 2**64\n',
        "    return float(bool(digest))\n",
        ("tests/model/test_retry.py",),
    ),
    Build(
        "leases are not renewed while their handler runs",
        "runtime/heartbeat.py",
        "    return attempt.state in (State.CLAIMED, State.RUNNING)\n",
        "    return attempt.state is State.CLAIMED\n",
        ("tests/runtime/test_heartbeat.py",),
    ),
    Build(
        "a settlement that did not land is taken for one that did",
        "runtime/committer.py",
        "        if len(landed) < len(group):\n",
        "        if len(landed) > len(group):\n",
        ("tests/runtime/test_heartbeat.py", "tests/runtime/test_sturdy.py", "tests/runtime/test_failures.py"),
    ),
    Build(
        "a COMMIT without an answer is taken for a failure",
        "store/leases.py",
        "        if doubtful and len(landed) < len(settlements):\n",
        "        if False:\n",
        ("tests/store/test_lost_answers.py",),
    ),
    Build(
        "what a lost answer has claimed is kept until it expires",
        "runtime/claimer.py",
        "        if claimed.doubtful:\n",
        "        if False:\n",
        ("tests/runtime/test_claimer.py", "tests/store/test_lost_answers.py"),
    ),
    Build(
        "a deadlock is final",
        "store/postgres.py",
        "        if state in AGAIN:\n",
        '        if state in AGAIN and state != "40P01":\n',
        ("tests/store/test_postgres_trouble.py", SEEDS),
    ),
    Build(
        "late rows are never looked for",
        "runtime/claimer.py",
        "                self._hints.forget()\n",
        "                pass\n",
        ("tests/runtime/test_claimer.py", SEEDS),
    ),
    Build(
        "a gone neighbour is forgotten before its leases are taken back",
        "runtime/sweeper.py",
        "                held = self._store.leases.held_by(neighbour.worker)\n",
        "                held: list[tuple[int, int]] = []\n",
        ("tests/runtime/test_sweeper.py",),
    ),
    Build(
        "SQLite: a write begins as a read",
        "store/sqlite.py",
        '"BEGIN IMMEDIATE" if write else "BEGIN"',
        '"BEGIN"',
        ("tests/store/test_claim.py", "tests/store/test_sqlite_trouble.py", "tests/store/test_settle.py"),
    ),
    Build(
        "SQLite: COMMIT does not wait for the disk",
        "store/sql/session/pragmas.sql",
        "PRAGMA synchronous = FULL;",
        "PRAGMA synchronous = OFF;",
        ("tests/store/test_sqlite_trouble.py", "tests/storms"),
    ),
    Build(
        "a secret of a failure is put on record",
        "model/failures/wording.py",
        "redact(",
        "str(",
        ("tests/model/test_failure.py", "tests/runtime/test_failures.py"),
    ),
)
