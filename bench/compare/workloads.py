"""What is measured of a peer, one function each. Each takes a fresh place unless its docstring names another.

A drain counts from the first handler that starts to the moment when the peer's own tables hold nothing unsettled, and
fails unless every job ran exactly once. One that takes far longer than planned is stopped, and its rate is that of the
jobs that ran until then. Latencies are of one clock: client and worker are processes of one machine.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from queue import Empty

import psycopg

from bench.compare import roles
from bench.compare.figures import percentile
from bench.compare.peers import Peer, Way
from bench.compare.place import Ground, Place
from bench.compare.roles import Role, RoleFailed, Start, WorkerGroup

DRAIN_SECONDS_MAX = 30
POLL_SECONDS = 0.01
START_SECONDS_MAX = 30
PAUSE_SECONDS = (0.02, 0.12)
STEPS = 10


@dataclass(frozen=True, slots=True)
class Subject:
    """A peer on a database; `place` may hold what earlier measurements left."""

    peer: Peer
    ground: Ground
    database: str

    @contextmanager
    def fresh(self) -> Iterator[tuple[Place, Role]]:
        """Have an empty place and a client on it; the place is gone afterwards."""
        place = self.ground.place(self.database)
        try:
            with roles.client(self.peer, place) as client:
                yield place, client
        finally:
            self.ground.clear(place)


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure, and a remark on it."""

    value: float
    note: str = ""


Readings = dict[str, Reading]


@dataclass(frozen=True, slots=True)
class Load:
    """What is drained: `is_filled` if nothing needs to be submitted any more."""

    count: int
    kind: str = "noop"
    way: Way = field(default_factory=lambda: Way(""))
    is_filled: bool = False

    @property
    def mode(self) -> str:
        """The options of the worker."""
        return "throughput" if self.kind == "noop" else "steps"


def bulk(subject: Subject, count: int) -> Readings:
    """Submit many jobs in the way the peer offers for that."""
    with subject.fresh() as (_, client):
        client.ask(do="bulk", kind="noop", count=max(1, count // 20))
        return {"bulk": Reading(count / client.ask(do="bulk", kind="noop", count=count)["seconds"])}


def single(subject: Subject, count: int) -> Readings:
    """Submit jobs one a call, one after the other."""
    with subject.fresh() as (_, client):
        client.ask(do="single", kind="noop", count=max(1, count // 10))
        calls = client.ask(do="single", kind="noop", count=count)["calls"]
    taken = [(end - start) / 1e6 for start, end in calls]
    rate = 1e9 * count / (calls[-1][1] - calls[0][0])
    return {"single": Reading(rate), "single p50": Reading(statistics.median(taken))}


def drain(subject: Subject, count: int, processes: int = 1, *, pinned: bool = False) -> Readings:
    """Run jobs that do nothing until none is left."""
    name = "snapshot" if pinned else f"drain {processes}"
    with subject.fresh() as (place, client):
        return {name: _drain(subject, place, client, Load(count), processes, pinned=pinned)}


def drain_with_history(subject: Subject, place: Place, count: int) -> Readings:
    """Run jobs on a place that holds settled rows, and to which this adds some."""
    with roles.client(subject.peer, place, is_fresh=False) as client:
        return {"history": _drain(subject, place, client, Load(count))}


def steps(subject: Subject, count: int, way: Way) -> Readings:
    """Run jobs of ten durable steps; the rate is of steps."""
    with subject.fresh() as (place, client):
        found = _drain(subject, place, client, Load(count, "ten", way, is_filled=way.starts_itself))
        return {"steps": Reading(STEPS * found.value, found.note)}


def cost(subject: Subject, count: int) -> Readings:
    """Count statements and WAL of a drain, the start of the worker included. Nothing else uses the server."""
    with subject.fresh() as (place, client):
        place.sql("CHECKPOINT")
        _fill(place, client, Load(count))
        place.log_statements()
        since, wal = place.log_size(), place.wal()
        if stopped := _drain(subject, place, client, Load(count, is_filled=True)).note:
            raise RoleFailed(stopped)
        statements, written = place.statements(since) / count, (place.wal() - wal) / count
        return {"statements": Reading(statements), "wal": Reading(written)}


def latency(subject: Subject, count: int) -> Readings:
    """Measure milliseconds from a submit to the first line of the handler, on a worker that waits."""
    found = []
    with subject.fresh() as (place, client), roles.start_workers(subject.peer, place, 1, "latency") as group:
        for _ in range(3):
            _stamp(client, group)
        for _ in range(count):
            time.sleep(random.uniform(*PAUSE_SECONDS))
            found.append(_stamp(client, group) / 1e6)
    return {"start p50": Reading(statistics.median(found)), "start p95": Reading(percentile(found, 0.95))}


def _stamp(client: Role, group: WorkerGroup) -> int:
    sent = client.ask(do="single", kind="stamp", count=1)["calls"][0][0]
    return int(_wait(group, "stamp", START_SECONDS_MAX).at - sent)


def _wait(group: WorkerGroup, kind: str, seconds: float) -> Start:
    """Return the next start of that kind."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            start = group.started.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            raise RoleFailed(f"no {kind} job started within {seconds:.0f} s") from None
        if start.kind == kind:
            return start


def _drain(
    subject: Subject,
    place: Place,
    client: Role,
    load: Load,
    processes: int = 1,
    *,
    pinned: bool = False,
) -> Reading:
    ledger, count = subject.peer.ledgers[subject.database], load.count
    before = place.sql(ledger.done)[0][0] if ledger.done else 0
    if not load.is_filled:
        _fill(place, client, load)
    with (
        place.old_snapshot() if pinned else nullcontext(),
        roles.start_workers(subject.peer, place, processes, load.mode, load.way.environment, count) as group,
    ):
        if not _await_all(group, count):
            return _stopped(group, count)
        end = _await_settled(subject, place, group)
        time.sleep(0.1)  # what ran twice would be reported now
        if group.ran != count:
            raise RoleFailed(f"{group.ran} runs of {count} jobs")
        taken = (end - group.first) / 1e9
    settled = place.sql(ledger.done)[0][0] - before if ledger.done else count
    if settled != count:
        raise RoleFailed(f"{settled} of {count} jobs settled")
    return Reading(count / taken)


def _fill(place: Place, client: Role, load: Load) -> None:
    """Submit, and give the planner the statistics that autovacuum would have made of older tables."""
    client.ask(do="bulk", kind=load.kind, count=load.count)
    if place.database == "postgres":
        place.sql("ANALYZE")


def _await_all(group: WorkerGroup, count: int) -> bool:
    """Wait until all have run; False if that takes too long."""
    deadline = time.monotonic() + DRAIN_SECONDS_MAX
    while group.ran < count:
        group.check()
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS / 2)
    return True


def _stopped(group: WorkerGroup, count: int) -> Reading:
    ran, seconds = group.ran, (time.time_ns() - group.first) / 1e9
    if not ran:
        raise RoleFailed(f"none of {count} jobs ran in {DRAIN_SECONDS_MAX} s")
    return Reading(ran / seconds, f"stopped after {seconds:.0f} s with {ran:,} of {count:,} jobs done")


def _await_settled(subject: Subject, place: Place, group: WorkerGroup) -> int:
    """Return when the peer's tables were first seen without unsettled work."""
    busy = subject.peer.ledgers[subject.database].busy
    deadline = time.monotonic() + START_SECONDS_MAX
    with _asking(place) as ask:
        asked = time.time_ns()  # an answer shows the state at the time of the question
        while ask(busy):
            group.check()
            if time.monotonic() > deadline:
                raise RoleFailed(f"all jobs ran, but not all were settled {START_SECONDS_MAX} s later")
            time.sleep(POLL_SECONDS)
            asked = time.time_ns()
        return asked


@contextmanager
def _asking(place: Place) -> Iterator[Callable[[str], bool]]:
    if place.database == "sqlite":
        yield lambda text: bool(place.sql(text)[0][0])
        return
    with psycopg.connect(place.url, autocommit=True) as connection:
        yield lambda text: bool(connection.execute(text.encode()).fetchall()[0][0])


def make_history(subject: Subject, place: Place, settled: int) -> str:
    """Fill a place with settled rows, and return how and how many."""
    with roles.client(subject.peer, place):
        for statement in subject.peer.ledgers[subject.database].history:
            place.sql(statement.replace("{count}", str(settled)))
    place.sql("VACUUM ANALYZE" if subject.database == "postgres" else "ANALYZE")
    if subject.database == "postgres":
        place.sql("CHECKPOINT")  # or the server writes all of this during what is measured next
    return f"{settled:,} rows by INSERT into its own tables"
