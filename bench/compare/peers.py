"""Who is measured: what is installed, which script runs it, and how its tables show that work is done.

`busy` is asked when all jobs have run: is anything not settled yet? `done` counts the settled. `history` puts settled
rows into the peer's own tables, by INSERT: its own means would take hours for some.
"""

# Every part of these statements is written in this file; the longer ones take two lines.
# ruff: noqa: S608, ISC004
from __future__ import annotations

from dataclasses import dataclass, field

POSTGRES, SQLITE = "postgres", "sqlite"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the tables of a peer can be asked; `done` is empty where finished jobs are deleted."""

    busy: str
    done: str = ""
    history: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run jobs of steps: what the script reads, and whether the worker starts jobs that nobody submits."""

    name: str
    environment: tuple[tuple[str, str], ...] = ()
    starts_itself: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """One engine; the first of `packages` is what it is called in its registry, with its version."""

    name: str
    script: str
    packages: tuple[str, ...]
    ledgers: dict[str, Ledger]
    settings: str
    # How it can run jobs of durable steps; the fastest is measured. Empty: it has none.
    ways: tuple[Way, ...] = ()
    is_python: bool = True
    # What its script reads, and which workloads alone are measured (empty: all): for an engine that is there twice.
    environment: tuple[tuple[str, str], ...] = ()
    only: tuple[str, ...] = ()
    # Why a workload cannot be measured: its name, and the reason.
    lacks: dict[str, str] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether this is Leasehold, which needs no environment of its own."""
        return not self.packages


_OURS_BUSY = "SELECT EXISTS (SELECT 1 FROM {0}ready) OR EXISTS (SELECT 1 FROM {0}lease)"
_OURS_DONE = "SELECT count(*) FROM {0}outcome WHERE status = 'DONE'"
_NUMBERS = {
    POSTGRES: "generate_series(1, {count}) AS n (n)",
    SQLITE: "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {count}) SELECT n FROM c) AS n",
}


def _ours(database: str) -> Ledger:
    prefix = "leasehold." if database == POSTGRES else ""
    numbers = _NUMBERS[database]
    columns = "id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at"
    facts = "n, n, 'noop', 'old-' || n, '{}', 'default', 0, 5, 30000, 'requeue', 1"
    ends = "task_id, epoch, fence, status, output, finished_at, mark"
    mark = "decode(md5(n::text), 'hex')" if database == POSTGRES else "randomblob(16)"
    names = "(SELECT 'submitted' AS name UNION ALL SELECT 'claimed' UNION ALL SELECT 'done') AS e"
    events = "task_id, at, name, fence, attempt, worker, mark"
    history = (
        f"INSERT INTO {prefix}task ({columns}) SELECT {facts} FROM {numbers}",
        f"INSERT INTO {prefix}outcome ({ends}) SELECT n, 1, 1, 'DONE', 'null', 1, {mark} FROM {numbers}",
        f"INSERT INTO {prefix}event ({events}) SELECT n, 1, name, 1, 1, 1, {mark} FROM {numbers}, {names}",
        "SELECT setval('leasehold.task_id_seq', {count})",
    )
    kept = history if database == POSTGRES else history[:-1]
    return Ledger(_OURS_BUSY.format(prefix), _OURS_DONE.format(prefix), kept)


def _dbos(database: str) -> Ledger:
    table = "dbos.workflow_status" if database == POSTGRES else "workflow_status"
    columns = "workflow_uuid, status, name, executor_id, created_at, updated_at, application_version, queue_name"
    facts = "'old-' || n, 'SUCCESS', 'noop', 'local', 1, 1, '1', 'bench'"
    return Ledger(
        f"SELECT EXISTS (SELECT 1 FROM {table} WHERE status IN ('ENQUEUED', 'PENDING'))",
        f"SELECT count(*) FROM {table} WHERE status = 'SUCCESS'",
        (f"INSERT INTO {table} ({columns}) SELECT {facts} FROM {_NUMBERS[database]}",),
    )


_PGQ = "job_id, status, entrypoint, priority, aggregated"
_PROCRASTINATE = "queue_name, task_name, args, status, attempts"
_ABSURD_ID = "('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid"
_ABSURD = (
    "INSERT INTO absurd.t_default (task_id, task_name, params, state, attempts) "
    f"SELECT {_ABSURD_ID}, 'noop', '{{}}', 'completed', 1 FROM {_NUMBERS[POSTGRES]}",
    "INSERT INTO absurd.r_default (run_id, task_id, attempt, state, available_at, completed_at) "
    "SELECT task_id, task_id, 1, 'completed', now(), now() FROM absurd.t_default WHERE state = 'completed'",
)

_AWA_DONE = (
    "(SELECT coalesce(sum(completed_count), 0) FROM awa.receipt_completion_batches) "
    "+ (SELECT coalesce(sum(pruned_completed_count), 0) FROM awa.queue_terminal_rollups) "
    "+ (SELECT count(*) FROM awa.done_entries WHERE state = 'completed')"
)
_AWA_QUEUED = "(SELECT coalesce(sum(awa.sequence_next_value(seq_name) - 1), 0) FROM awa.queue_enqueue_heads)"

LEASEHOLD = Peer(
    "leasehold",
    "leasehold_peer.py",
    (),
    {POSTGRES: _ours(POSTGRES), SQLITE: _ours(SQLITE)},
    "`work(concurrency=1000)`, async handlers; `submit_many`. On SQLite WAL, `synchronous` FULL",
    ways=(Way("submitted before, one effect a step"),),
)

PGQUEUER = Peer(
    "pgqueuer",
    "pgqueuer_peer.py",
    ("pgqueuer==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"),
    {
        POSTGRES: Ledger(
            "SELECT EXISTS (SELECT 1 FROM pgqueuer WHERE status IN ('queued', 'picked'))",
            "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
            (f"INSERT INTO pgqueuer_log ({_PGQ}) SELECT -n, 'successful', 'noop', 0, TRUE FROM {_NUMBERS[POSTGRES]}",),
        )
    },
    "asyncpg, uvloop, 2 consumers a process, `batch_size=500`, `pgq autovac`, `durable`; one `enqueue` of lists",
)

PROCRASTINATE = Peer(
    "procrastinate",
    "procrastinate_peer.py",
    ("procrastinate==3.10.0", "psycopg[binary]==3.3.8"),
    {
        POSTGRES: Ledger(
            "SELECT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE status IN ('todo', 'doing'))",
            "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
            (
                f"INSERT INTO procrastinate_jobs ({_PROCRASTINATE}) "
                f"SELECT 'default', 'noop', '{{}}', 'succeeded', 1 FROM {_NUMBERS[POSTGRES]}",
            ),
        )
    },
    "8 workers a process with `concurrency=5`, pool of 30, psycopg binary, LISTEN; `batch_defer_async`",
)

DBOS = Peer(
    "dbos",
    "dbos_peer.py",
    ("dbos==3.3.0",),
    {POSTGRES: _dbos(POSTGRES), SQLITE: _dbos(SQLITE)},
    "queue with `worker_concurrency=100`, polled every 50 ms (latency: 10 ms), 8 threads, no log, no pre-ping; "
    "`enqueue_in_transaction`, by 500. On SQLite WAL instead of its default rollback journal, `synchronous` FULL",
    ways=(
        Way("`start_workflow`, 4 threads", (("DBOS_STEPS", "threads"), ("DBOS_THREADS", "4")), starts_itself=True),
        Way("`start_workflow`, 8 threads", (("DBOS_STEPS", "threads"), ("DBOS_THREADS", "8")), starts_itself=True),
        Way(
            "`start_workflow_async`, 10 at once", (("DBOS_STEPS", "async"), ("DBOS_THREADS", "10")), starts_itself=True
        ),
        Way("queue, 4 threads", (("DBOS_STEPS", "queue"), ("DBOS_THREADS", "4"))),
        Way("queue, 8 threads", (("DBOS_STEPS", "queue"), ("DBOS_THREADS", "8"))),
    ),
)

AWA = Peer(
    "awa-pg",
    "awa_peer.py",
    ("awa-pg==0.6.9",),
    # Its view `awa.jobs` takes a minute where these take a millisecond.
    {POSTGRES: Ledger(f"SELECT {_AWA_QUEUED} > {_AWA_DONE}", f"SELECT ({_AWA_DONE})::bigint")},
    "queue storage, `max_workers=512`, `claim_batch_size=512`, pool of 20; `enqueue_many_copy`",
    lacks={"history": "it truncates finished jobs within seconds and keeps no settled rows"},
)

ABSURD = Peer(
    "absurd-sdk",
    "absurd_peer.py",
    ("absurd-sdk==0.5.1", "absurdctl==0.5.1"),
    {
        POSTGRES: Ledger(
            "SELECT EXISTS (SELECT 1 FROM absurd.t_default WHERE state IN ('pending', 'running', 'sleeping'))",
            "SELECT count(*) FROM absurd.t_default WHERE state = 'completed'",
            _ABSURD,
        )
    },
    "16 sync clients a process on threads, `batch_size=100`, polled every 50 ms (latency: 10 ms); spawned 1,000 a "
    "transaction",
    ways=(
        Way("16 clients", (("ABSURD_CLIENTS", "16"), ("ABSURD_BATCH", "20"))),
        Way("8 clients", (("ABSURD_CLIENTS", "8"), ("ABSURD_BATCH", "20"))),
        Way("16 clients, batches of 5", (("ABSURD_CLIENTS", "16"), ("ABSURD_BATCH", "5"))),
        Way("32 clients, batches of 5", (("ABSURD_CLIENTS", "32"), ("ABSURD_BATCH", "5"))),
        Way("64 clients, batches of 2", (("ABSURD_CLIENTS", "64"), ("ABSURD_BATCH", "2"))),
    ),
)

GRAPHILE = Peer(
    "graphile-worker",
    "graphile_peer.mjs",
    ("graphile-worker@0.17.3",),
    {POSTGRES: Ledger("SELECT EXISTS (SELECT 1 FROM graphile_worker._private_jobs)")},
    "as on its performance page: `concurrentJobs: 24`, `maxPoolSize: 25`, `localQueue.size: 500`, both batch delays 0; "
    "`addJobs`",
    is_python=False,
    lacks={"history": "it deletes finished jobs and keeps no settled rows"},
)

GRAPHILE_LONG = Peer(
    "graphile-long-queue",
    "graphile_peer.mjs",
    ("graphile-worker@0.17.3",),
    GRAPHILE.ledgers,
    "the same with `localQueue.size: 2000`, as many as any other engine here may hold; its documents advise against it",
    is_python=False,
    environment=(("GW_LOCAL", "2000"),),
    only=("drain1", "drain2"),
)

HUEY = Peer(
    "huey",
    "huey_peer.py",
    ("huey==3.5.4",),
    {SQLITE: Ledger("SELECT EXISTS (SELECT 1 FROM task)")},
    "SqliteHuey, WAL, `fsync=True` (`synchronous` FULL), 1 thread a process, polled every 10 ms; no bulk call",
    lacks={"history": "it keeps no settled rows"},
)

ALL = (LEASEHOLD, PGQUEUER, PROCRASTINATE, DBOS, AWA, ABSURD, GRAPHILE, GRAPHILE_LONG, HUEY)
BY_NAME = {peer.name: peer for peer in ALL}


def on(database: str) -> list[Peer]:
    """Return who can be measured on that database."""
    return [peer for peer in ALL if database in peer.ledgers]
