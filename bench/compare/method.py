"""How it was measured, in words, for the end of the document. Pure."""

from __future__ import annotations

from typing import Any

TEXT = """## How it was measured

- Every engine is a script in `bench/peers/` with the same few commands: a client process submits, worker processes
  run. The payload is the same for all: `{{"user": 1, "address": "someone@example.com", "template": "welcome"}}`.
- Settings are those that each engine's documentation offers for throughput, with numbers tried by `python -m
  bench.compare.tuning`. No engine holds more than 2,000 jobs a process at once: larger batches are faster, but a crash
  leaves more behind. Graphile Worker runs as on its performance page, and with a longer local queue. For
  latency, an engine that polls does so every 10 ms. Recovery uses the engine's own settings.
- Bulk: the engine's call for many jobs; where it has none, one transaction around many, or one by one.
- Single: one call after the other from one client, each durable when it returns.
- A drain counts from the first handler that starts to the moment when the engine's own tables hold nothing unsettled.
  It is void unless every job ran exactly once. Each engine gets as many jobs as take about {seconds:g} s by its own
  rate; one that takes longer than 30 s all the same is stopped, and its rate (\\*) is that of the jobs done until then.
- Ten durable steps: a job whose ten steps do nothing; each is recorded before the next. Jobs are submitted before
  the count begins; where a worker can start them itself without a queue, that is tried too, and the fastest is taken.
  Leasehold writes twice a step, intent and result; the others write the result.
- Latency: one clock, from before the submit to the first line of the handler, at random pauses, the worker idle.
- Recovery: two worker processes; the one that runs the job is killed; the time counts until the other starts it.
  "Started again": the only worker is killed, and another process is started at once. The limit is {recovery:g} s.
- Settled rows: {settled:,} of them, put into the engine's own tables before its drains.
- Every database is analysed after it is filled and before its workers start: fresh tables have no statistics yet.
- Old snapshot: a REPEATABLE READ transaction of another session, opened before the drain, held until its end.
- Statements as the server logs them, WAL as it counts it, over a drain, the start of the worker included.
- The order rotates with each repeat; the engines of one workload run directly after each other.
- Durability on PostgreSQL: every engine has `synchronous_commit` on and logged tables. Leasehold switches it off for
  the transactions that only send NOTIFY and write no row.
- Durability on SQLite: every engine commits with `synchronous` FULL in WAL mode. It is Leasehold's only mode. Huey is
  given `fsync=True`, without which it depends on how SQLite was built. DBOS has FULL with a rollback journal by
  default, which syncs twice a commit; its file is put into WAL mode, in its favour."""


def method(facts: dict[str, Any]) -> str:
    """Return the chapter."""
    return TEXT.format(seconds=facts["seconds"], recovery=facts["recovery_limit"], settled=facts["settled"])
