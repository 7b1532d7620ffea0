"""Measure debits per second from 16 processes on one budget: `python -m bench.budgets`.

Every debit changes the same row, so they come one after the other; a commit is durable before its row is free again.
Each process debits for one attempt, or for 16 attempts whose debits share a commit, as a worker's do. The baseline is
the bare `UPDATE … WHERE spent + 1 <= most`, without lease, ledger and journal, one a commit and 16 a commit.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.synchronize import Barrier
from typing import Any

import apsw
import psycopg

from bench.bed import Bed, beds
from bench.report import Report
from leasehold.model.effect import identity_of_lease
from leasehold.model.graph import Definition, Stage
from leasehold.model.lanes import Lane
from leasehold.model.lease import Lease
from leasehold.model.limits import PRIORITY_MAX, PRIORITY_MIN
from leasehold.model.owner import Owner
from leasehold.model.task import Submission, Terms
from leasehold.model.tree.budget import make_spend
from leasehold.store import open_store
from leasehold.store.db.documents import document

PROCESSES = 16
TOGETHER = 16
MOST = 10**12
GOAL = 2_000
TERMS = Terms(lease_ms=3_600_000)
BARE = "UPDATE {prefix}budget SET spent = spent + 1 WHERE name = 'tokens' AND spent + 1 <= most"

Debit = Callable[[int], None]  # the number of the turn


def lease_all(bed: Bed, count: int) -> list[Lease]:
    """Submit a job with a budget and so many stages, and lease them all."""
    stages = tuple(Stage(f"s{number}", TERMS) for number in range(count))
    submission = Submission("tree", "one", "{}", Terms(), unmet=count)
    [job] = bed.store.tasks.submit_pipelines([submission], Definition("tree", Terms(), stages))
    bed.store.budgets.add([job.id], {"tokens": MOST})
    worker = bed.store.workers.register(Owner("host", "boot", "namespace", 1, 1))
    routes = document([f"tree/s{number}" for number in range(count)])
    return bed.store.leases.claim(worker, [Lane("default", PRIORITY_MIN, PRIORITY_MAX, 0)], routes, count).leases


def debit_by_engine(url: str, leases: list[Lease], barrier: Barrier, seconds: float, counts: Any) -> None:
    """Debit for these attempts, all in one batch, until the time is over."""
    with closing(open_store(url, connections=1)) as store:

        def debit(turn: int) -> None:
            asked = [make_spend(one, identity_of_lease(one), "tokens", 1, turn + 1) for one in leases]
            answers = store.budgets.spend(asked)
            assert len(answers) == len(leases)
            assert all(answer.verdict == "spent" for answer in answers)

        counts.put(count(debit, barrier, seconds) * len(leases))


def debit_barely(url: str, together: int, barrier: Barrier, seconds: float, counts: Any) -> None:
    """Run the bare statement, so many in one commit, until the time is over."""
    is_sqlite = url.startswith("sqlite")
    connection: Any = apsw.Connection(url.removeprefix("sqlite:///")) if is_sqlite else psycopg.connect(url)
    if is_sqlite:
        connection.set_busy_timeout(60_000)
        connection.execute("PRAGMA synchronous = FULL")
    text = BARE.format(prefix="" if is_sqlite else "leasehold.")

    def debit(_: int) -> None:
        if is_sqlite:
            connection.execute("BEGIN IMMEDIATE")
        for _ in range(together):
            connection.execute(text)
        connection.execute("COMMIT") if is_sqlite else connection.commit()

    counts.put(count(debit, barrier, seconds) * together)
    connection.close()


def count(debit: Debit, barrier: Barrier, seconds: float) -> int:
    """Return how often something was done from the moment on when all are there."""
    barrier.wait()
    turn, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        debit(turn)
        turn += 1
    return turn


def rate(target: Callable[..., None], arguments: list[tuple[Any, ...]], seconds: float) -> float:
    """Run one process for each arguments; return how much they did per second, together."""
    spawn = multiprocessing.get_context("spawn")
    barrier, counts = spawn.Barrier(len(arguments)), spawn.Queue()
    processes = [spawn.Process(target=target, args=(*each, barrier, seconds, counts)) for each in arguments]
    for process in processes:
        process.start()
    total = sum(counts.get() for _ in processes)
    for process in processes:
        process.join()
    return float(total / seconds)


def measure(bed: Bed, processes: int, together: int, seconds: float, report: Report) -> float:
    """Print debits per second next to the bare statement's, and return them."""
    leases = lease_all(bed, processes * together)
    groups = [(bed.url, leases[first : first + together]) for first in range(0, len(leases), together)]
    what = f"{bed.name}: debits, {processes} processes, {together} a commit"
    found = report.note(what, rate(debit_by_engine, groups, seconds))
    spent = bed.store.budgets.of(leases[0].job_id)["tokens"].spent
    assert spent == round(found * seconds), "S9: what was answered is what was spent"
    bare = [(bed.url, together)] * processes
    report.note(f"{bed.name}: the bare statement, {together} a commit", rate(debit_barely, bare, seconds))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.budgets", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each is measured (default: 10)")
    options = parser.parse_args()
    report = Report()
    with beds() as make:
        for name in ("postgres", "sqlite"):
            measure(make(name), PROCESSES, 1, options.seconds, report)
            found = measure(make(name), PROCESSES, TOGETHER, options.seconds, report)
            report.at_least(f"{name}: debits per second, {TOGETHER} a commit", found, GOAL)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
