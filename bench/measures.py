"""What is measured, one function each. Rates are per second; each takes a fresh bed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

import psutil
import psycopg

from bench.bed import Bed
from leasehold import Leasehold
from leasehold.model.lanes import Hints
from leasehold.model.lease import Lease, done
from leasehold.model.owner import Owner
from leasehold.model.task import Submission, Terms
from leasehold.store import Store, open_store
from tests.support.wait import until

GROUP = 500
CONCURRENCY = 1_000


def fill(bed: Bed, count: int, prefix: str = "k", kind: str = "noop") -> float:
    """Submit jobs in bulk and return the rate."""
    submissions = [Submission(kind, f"{prefix}-{number:08d}", "{}", Terms()) for number in range(count)]
    started = time.perf_counter()
    bed.store.tasks.submit(submissions)
    return count / (time.perf_counter() - started)


def bulk_submit(bed: Bed, count: int) -> float:
    """Measure `submit_many` through the public interface."""
    app = _app(bed)
    started = time.perf_counter()
    app.submit_many("noop", [{}] * count)
    rate = count / (time.perf_counter() - started)
    app.close()
    return rate


def single_submit(bed: Bed, count: int) -> float:
    """Measure `submit`, one job a call."""
    app = _app(bed)
    app.submit("noop", {})
    started = time.perf_counter()
    for _ in range(count):
        app.submit("noop", {})
    rate = count / (time.perf_counter() - started)
    app.close()
    return rate


def _app(bed: Bed) -> Leasehold:
    app = Leasehold(bed.url)

    @app.job
    async def noop() -> None:
        """Do nothing."""

    return app


def ceiling_one(bed: Bed) -> float:
    """Drain with the same claim and settle statements and no handler between them, in turn on one connection."""
    worker = bed.store.workers.register(Owner("bench", "", "", 0, 0))
    hints = Hints()
    store = open_store(bed.url, connections=1)
    while leases := _claim(store, worker, hints):
        store.leases.settle([done(lease, "null") for lease in leases])
    store.close()
    count, seconds = bed.span()
    return count / seconds


def ceiling_two(bed: Bed) -> float:
    """Claim on one connection and settle on another, at the same time."""
    worker = bed.store.workers.register(Owner("bench", "", "", 0, 0))
    claimed: SimpleQueue[list[Lease]] = SimpleQueue()
    claims, settles = open_store(bed.url, connections=1), open_store(bed.url, connections=1)

    def settle() -> None:
        while leases := claimed.get():
            settles.leases.settle([done(lease, "null") for lease in leases])

    thread = threading.Thread(target=settle)
    thread.start()
    hints = Hints()
    while leases := _claim(claims, worker, hints):
        claimed.put(leases)
    claimed.put([])
    thread.join()
    claims.close()
    settles.close()
    count, seconds = bed.span()
    return count / seconds


def _claim(store: Store, worker: int, hints: Hints) -> list[Lease]:
    leases = store.leases.claim(worker, hints.lanes(["default"]), '["noop"]', GROUP).leases
    hints.claimed(leases)
    return leases


def drain(bed: Bed, processes: int = 1) -> float:
    """Drain what is ready with real worker processes."""
    workers = [_worker(bed, "drain") for _ in range(processes)]
    for worker in workers:
        if worker.wait() != 0:
            raise RuntimeError("a worker failed")
    count, seconds = bed.span()
    return count / seconds


def effects(bed: Bed, jobs: int, concurrency: int = CONCURRENCY) -> float:
    """Drain jobs of ten effects each with one worker process; return effects a second."""
    fill(bed, jobs, kind="ten")
    if _worker(bed, "drain", concurrency).wait() != 0:
        raise RuntimeError("a worker failed")
    count, seconds = bed.span("ten")
    recorded = bed.sql(f"SELECT count(*) FROM {bed.prefix}effect WHERE result = '1'")[0][0]  # noqa: S608
    if (count, recorded) != (jobs, 10 * jobs):
        raise RuntimeError(f"{count} of {jobs} jobs settled, {recorded} of {10 * jobs} effects on record")
    return float(recorded / seconds)


def _worker(bed: Bed, verb: str, concurrency: int = CONCURRENCY) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench.app", verb, str(concurrency)]
    return subprocess.Popen(command, env=os.environ | {"LEASEHOLD_URL": bed.url})


@contextmanager
def idle_worker(bed: Bed) -> Iterator[subprocess.Popen[bytes]]:
    """Have a worker that waits for work."""
    app = _app(bed)
    job = app.submit("noop", {})
    worker = _worker(bed, "work")
    until(lambda: job.status.settled)
    app.close()  # and with it its connections, so that the server counts what they did now and not later
    try:
        yield worker
    finally:
        worker.terminate()
        worker.wait()


def latency(bed: Bed, count: int) -> list[float]:
    """Measure milliseconds from `submit` to the first line of the handler, on an idle worker."""
    with idle_worker(bed):
        app = Leasehold(bed.url)
        found: list[float] = []
        for _ in range(count):
            threading.Event().wait(0.02)
            started = time.time_ns()
            job = app.submit("stamp", {}).wait(60)
            found.append((job.output["started"] - started) / 1e6)
        app.close()
    return found


def bare_latency(bed: Bed, count: int) -> list[float]:
    """Measure milliseconds of a bare INSERT + NOTIFY → LISTEN → claim between two processes' connections."""
    bed.sql("CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text)")
    received: SimpleQueue[int] = SimpleQueue()
    ready = threading.Event()

    def listen() -> None:
        with psycopg.connect(bed.url, autocommit=True) as listener, psycopg.connect(bed.url, autocommit=True) as sender:
            listener.execute("LISTEN bare")
            ready.set()
            for _ in range(count):
                for _notice in listener.notifies(stop_after=1):
                    sender.execute(
                        "DELETE FROM bare WHERE id = ANY(ARRAY(SELECT id FROM bare ORDER BY id LIMIT 1 "
                        "FOR UPDATE SKIP LOCKED)) RETURNING payload"
                    ).fetchall()
                    received.put(time.time_ns())

    thread = threading.Thread(target=listen)
    thread.start()
    ready.wait()
    found: list[float] = []
    with psycopg.connect(bed.url, autocommit=True) as connection:
        for _ in range(count):
            threading.Event().wait(0.02)
            started = time.time_ns()
            connection.execute("INSERT INTO bare (payload) VALUES ('{}')")
            connection.execute("NOTIFY bare")
            found.append((received.get() - started) / 1e6)
    thread.join()
    return found


def make_history(bed: Bed, settled: int) -> None:
    """Put settled tasks into the tables."""
    numbers = f"generate_series(1, {settled}) AS n (n)"
    if bed.name == "sqlite":
        counting = f"SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {settled}"  # noqa: S608
        numbers = f"(WITH RECURSIVE c(n) AS ({counting}) SELECT n FROM c) AS n"  # noqa: S608
    columns = "id, job_id, kind, key, payload, queue, priority, attempts_max, lease_ms, on_lost, created_at"
    facts = "n, n, 'noop', 'old-' || n, '{}', 'default', 0, 5, 30000, 'requeue', 1"
    ends = "task_id, epoch, fence, status, output, finished_at"
    bed.sql(f"INSERT INTO {bed.prefix}task ({columns}) SELECT {facts} FROM {numbers}")  # noqa: S608
    bed.sql(f"INSERT INTO {bed.prefix}outcome ({ends}) SELECT n, 1, 1, 'DONE', 'null', 1 FROM {numbers}")  # noqa: S608
    bed.sql(f"INSERT INTO {bed.prefix}event (task_id, at, name) SELECT n, 1, 'done' FROM {numbers}")  # noqa: S608
    if bed.name == "postgres":
        bed.sql(f"SELECT setval('leasehold.task_id_seq', {settled})")
        bed.sql("ANALYZE")


@contextmanager
def pinned(bed: Bed) -> Iterator[None]:
    """Have another session hold an old snapshot."""
    with psycopg.connect(bed.url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM leasehold.task")
        yield
        connection.rollback()


def drain_cost(bed: Bed, count: int) -> tuple[float, float]:
    """Return statements and WAL bytes per task of a drain, start and end of the worker included."""
    bed.sql("CHECKPOINT")  # so that none falls into the drain and adds whole pages that a steady load shares
    fill(bed, count)
    bed.log_statements()
    statements, wal = bed.statements(), bed.wal()
    drain(bed)
    return (bed.statements() - statements) / count, (bed.wal() - wal) / count


def idle_cost(bed: Bed, seconds: float) -> tuple[float, float]:
    """Return statements a second and percent of a core of a worker with nothing to do."""
    bed.log_statements()
    with idle_worker(bed) as worker:
        process = psutil.Process(worker.pid)
        threading.Event().wait(3)
        before, cpu, started = bed.statements(), sum(process.cpu_times()[:2]), time.perf_counter()
        threading.Event().wait(seconds)
        spent = time.perf_counter() - started
        return (bed.statements() - before) / spent, 100 * (sum(process.cpu_times()[:2]) - cpu) / spent


def dump(figures: dict[str, object]) -> str:
    """Return figures as one line of JSON."""
    return json.dumps(figures, sort_keys=True)
