"""Measure what a session of agents costs: `python -m bench.agents`. Each figure stands next to its baseline.

- A child: from its spawn to its first instruction, and to its recorded end. Baselines: the same command by
  `subprocess`, and one durable commit of the database, taken in turn with the children. A start takes six of those.
- Debits of 16 processes on one budget: see `bench.budgets`.
- Recovery of 10,000 dispatches, and `verify` of what it leaves. Baselines: the same events written to a bare table by
  as many transactions, and the same rows only read.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import psycopg

from bench import budgets
from bench.bed import Bed, beds
from bench.report import Report
from leasehold.pipelines.agents import ChildSpec, SessionRequest, SessionTerms, open_place, start_session
from leasehold.pipelines.agents.child_dispatch import Spawn, lease_child, spawn_child, start_child
from leasehold.pipelines.agents.child_recovery import recover
from leasehold.pipelines.agents.events import events_of
from leasehold.pipelines.agents.records.limits import RECOVERY_BATCH
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction, open_records
from leasehold.pipelines.agents.runtime_state import RuntimeState
from leasehold.pipelines.agents.sessions import open_session
from leasehold.pipelines.agents.tokens import tokens_of
from leasehold.pipelines.agents.verify import verify

COMMAND = ("bash", "-c", "echo $EPOCHREALTIME")
SESSION = "children"
LOST = "lost"  # the session whose coordinator is gone
OVERHEAD_GOAL_MS = 15.0
RECOVERY_GOAL_SECONDS = 10.0
AT_ONCE = 1_000  # children of the recovery that are prepared in one transaction


def measure_spawns(bed: Bed, children: int, report: Report) -> float:
    """Print how long a child takes, one after the other, and return the median overhead in milliseconds."""
    started: list[float] = []
    ended: list[float] = []
    bare_started: list[float] = []
    bare_ended: list[float] = []
    commits: list[float] = []
    with opened_session(bed) as run, committing(bed.url) as commit:
        for number in range(children + 1):
            began = time.time()
            text = subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
            bare_ended.append(time.time() - began)
            bare_started.append(float(text) - began)
            began = time.time()
            commit(number)
            commits.append(time.time() - began)
            began = time.time()
            text = run(f"c{number}")
            ended.append(time.time() - began)
            started.append(float(text) - began)
    ours, bare = median_ms(started), median_ms(bare_started)
    report.note(f"{bed.name}: a child, spawn to first instruction", ours, "ms")
    report.note(f"{bed.name}: a bare subprocess, to first instruction", bare, "ms")
    report.note(f"{bed.name}: a bare durable commit", median_ms(commits), "ms")
    whole, bare_whole = median_ms(ended), median_ms(bare_ended)
    report.note(f"{bed.name}: a child, spawn to recorded end", whole, "ms")
    report.note(f"{bed.name}: a bare subprocess, to its end", bare_whole, "ms")
    report.note(f"{bed.name}: overhead to the recorded end", whole - bare_whole, "ms")
    return ours - bare


def median_ms(seconds: list[float]) -> float:
    """Return the median without the first, which also starts the guard and opens connections."""
    return statistics.median(seconds[1:]) * 1_000


@contextmanager
def opened_session(bed: Bed) -> Iterator[Callable[[str], bytes]]:
    """Give a function that runs one child in a session, and returns what the child printed."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        request = SessionRequest(SessionTerms(SESSION))
        with open_place(Path(folder), bed.url) as place, start_session(place, request) as session:

            def run(name: str) -> bytes:
                session.spawn(ChildSpec(name, COMMAND, folder), name, child_id=name)
                session.coordinator.step()
                while not session.coordinator.is_idle:
                    session.coordinator.wait()
                    session.coordinator.step()
                return (place.child_home(SESSION, name) / "stdout.txt").read_bytes()

            yield run


def measure_recovery(bed: Bed, count: int, report: Report) -> float:
    """Print how long the recovery of so many children takes, and verify; return the seconds of the recovery."""
    with closing(open_records(bed.url)) as records:
        records.migrate()
        leave_children(records, count)
        began = time.monotonic()
        ended = recover(RuntimeState(records, "second"), lambda _: True)
        recovery = report.note(f"{bed.name}: recovery of {count:,} dispatches", time.monotonic() - began, "s")
        assert len(ended) == count, "every child was ended"
        bodies = records.read(written_by_recovery)
        assert len(bodies) == 2 * count, "each end is on the child's stream and on its parent's"
        report.note(f"{bed.name}: the same events in a bare table", write_barely(bed.url, bodies), "s")
        began = time.monotonic()
        assert verify(records, LOST) == count
        report.note(f"{bed.name}: verify of {count:,} dispatches", time.monotonic() - began, "s")
        began = time.monotonic()
        records.read(read_all)
        report.note(f"{bed.name}: the same rows, only read", time.monotonic() - began, "s")
    return recovery


class OneTransaction:
    """Records whose writes are all part of one transaction: preparing many children is not what is measured."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def write(self, work: Callable[[Transaction], Any]) -> Any:
        return work(self._transaction)


def leave_children(records: AgentRecords, count: int) -> None:
    """Leave children of a coordinator: a third have started, a third are leased, the others wait."""
    state = RuntimeState(records, "first")
    state.recovered.set()
    open_session(state, SessionTerms(LOST, "open", count))
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, count))
        records.write(partial(_prepare, numbers=numbers, count=count))


def _prepare(transaction: Transaction, numbers: range, count: int) -> None:
    within: Any = OneTransaction(transaction)
    state = RuntimeState(within, "first")
    state.recovered.set()
    for number in numbers:
        spawn_child(state, Spawn(LOST, f"{LOST}-{number}", f"{LOST}-{number}"))
        if number < 2 * count // 3:
            lease = lease_child(state, LOST)
            assert lease is not None
            if number < count // 3:
                start_child(state, lease)


def written_by_recovery(transaction: Transaction) -> list[tuple[str, int, str]]:
    return [
        (stream, row.seq, row.body)
        for stream, _ in list(transaction.pages("stream/page", 0, "", parent_session_id=LOST))
        for row in events_of(transaction, stream)
        if row.event == "WORKER_FAIL"
    ]


def read_all(transaction: Transaction) -> int:
    """Read every token and event of the session."""
    streams = list(transaction.pages("stream/page", 0, "", parent_session_id=LOST))
    events = sum(1 for stream, _ in streams for _ in events_of(transaction, stream))
    return events + sum(1 for _ in tokens_of(transaction, LOST))


def write_barely(url: str, rows: list[tuple[str, int, str]]) -> float:
    """Write rows to a table without anything else, as many in a commit as a recovery; return the seconds."""
    batch = 2 * RECOVERY_BATCH
    with bare_table(url) as insert:
        began = time.monotonic()
        for first in range(0, len(rows), batch):
            insert(rows[first : first + batch])
        return time.monotonic() - began


@contextmanager
def committing(url: str) -> Iterator[Callable[[int], None]]:
    """Give a function that commits one small row."""
    with bare_table(url) as insert:
        yield lambda number: insert([("commit", number, "")])


@contextmanager
def bare_table(url: str) -> Iterator[Callable[[list[tuple[str, int, str]]], None]]:
    """Give a function that writes rows to a table of three columns, durably, in one commit."""
    is_sqlite = url.startswith("sqlite")
    connection: Any = apsw.Connection(url.removeprefix("sqlite:///")) if is_sqlite else psycopg.connect(url)
    if is_sqlite:
        connection.set_busy_timeout(60_000)
        connection.execute("PRAGMA synchronous = FULL")
    mark = "?" if is_sqlite else "%s"
    text = f"INSERT INTO bare VALUES ({mark}, {mark}, {mark})"  # noqa: S608

    def insert(rows: list[tuple[str, int, str]]) -> None:
        if is_sqlite:
            connection.execute("BEGIN IMMEDIATE")
        cursor.executemany(text, rows)
        connection.execute("COMMIT") if is_sqlite else connection.commit()

    with closing(connection):
        cursor = connection.cursor()
        cursor.execute(
            "CREATE TABLE IF NOT EXISTS bare (stream TEXT, seq BIGINT, body TEXT, PRIMARY KEY (stream, seq))"
        )
        insert([])
        yield insert


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    parser.add_argument("--children", type=int, default=100, help="that are run one after the other (default: 100)")
    parser.add_argument("--dispatches", type=int, default=10_000, help="that are recovered (default: 10,000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long debits are measured (default: 5)")
    options = parser.parse_args()
    report = Report()
    with beds() as make:
        for name in ("postgres", "sqlite"):
            overhead = measure_spawns(make(name), options.children, report)
            report.at_most(f"{name}: overhead of a spawn, p50, ms", overhead, OVERHEAD_GOAL_MS)
            recovery = measure_recovery(make(name), options.dispatches, report)
            report.at_most(f"{name}: recovery of {options.dispatches:,}, s", recovery, RECOVERY_GOAL_SECONDS)
            debits = budgets.measure(make(name), budgets.PROCESSES, budgets.TOGETHER, options.seconds, report)
            if name == "postgres":
                report.at_least(f"{name}: debits per second", debits, budgets.GOAL)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
