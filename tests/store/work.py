"""Helpers of the store tests: jobs, pipelines, claims, and a look into the tables as they are."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apsw
import psycopg
from msgspec import structs

from leasehold import canonical, clock
from leasehold.model.failure.failure import Failure
from leasehold.model.graph import Definition, Stage
from leasehold.model.lanes import POSITION_MIN, Lane
from leasehold.model.lease import Lease, Settled, Settlement, done, failed
from leasehold.model.limits import PRIORITY_MAX, PRIORITY_MIN
from leasehold.model.owner import Owner
from leasehold.model.task import Submission, Submitted, Terms
from leasehold.runtime.maintain.orchestrator import Orchestrator
from leasehold.store import Store
from leasehold.store.workers import PulseQuery
from tests.support.db import rows

REASON = Failure("CANCELLED", "called off by a test").text()
BROKEN = Failure("PERMANENT", "it cannot work")
# Whether anybody waits for a lock that another transaction holds (PostgreSQL only).
WAITS = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def job(key: str, *, kind="a", payload=None, priority=0, delay=0.0, **terms) -> Submission:
    text = canonical.encode(payload if payload is not None else {})
    return Submission(kind, key, text, Terms(**terms), priority, clock.microseconds(delay))


def take_time(session: Any) -> None:
    """Let a test be silent inside this transaction for as long as it waits for others."""
    session.run("session/idle_limit", limit="0")


def submit(store: Store, *keys: str, **options) -> list[int]:
    return [one.id for one in store.tasks.submit([job(key, **options) for key in keys])]


def register(store: Store, number: int = 1) -> int:
    return store.workers.register(Owner("host", "boot", "namespace", number, number))


def lane(queue: str = "default", after: int = POSITION_MIN) -> Lane:
    return Lane(queue, PRIORITY_MIN, PRIORITY_MAX, after)


def claim(
    store: Store, worker: int, most=100, queues: Sequence[str] = ("default",), routes=("a", "b", "!a", "!b")
) -> list[Lease]:
    return store.leases.claim(worker, [lane(queue) for queue in queues], json.dumps(routes), most).leases


def claim_one(store: Store, worker: int, **options) -> Lease:
    (lease,) = claim(store, worker, 1, **options)
    return lease


def claim_limited(store: Store, worker: int, queue: str, most=100) -> list[Lease]:
    return store.leases.claim_limited(worker, queue, '["a"]', most).leases


def finish(store: Store, leases: Sequence[Lease], output: object = None) -> list[Settled]:
    return store.leases.settle([done(lease, canonical.encode(output)) for lease in leases])


def fail(store: Store, leases: Sequence[Lease]) -> list[Settled]:
    return store.leases.settle([failed(lease, BROKEN) for lease in leases])


def retry(lease: Lease, delay: float) -> Settlement:
    return Settlement(
        lease.task_id, lease.fence, "RETRY", failure=BROKEN.text(), delay_us=clock.microseconds(delay), detail="{}"
    )


def pipeline(store: Store, key: str, *stages: Stage, kind="film", priority=0, delay=0.0) -> Submitted:
    definition = Definition(kind, Terms(), stages)
    submission = Submission(kind, key, "{}", Terms(), priority, clock.microseconds(delay), unmet=len(stages))
    return store.tasks.submit_pipelines([submission], definition)[0]


def stage(name: str, *after: str, each: str | None = None, **terms) -> Stage:
    return Stage(name, Terms(**terms), after, each)


def routes_of(*stages: str, kind="film") -> list[str]:
    return [f"{kind}/{name}" for name in stages]


def advance(store: Store) -> int:
    """Let an orchestrator look until nothing is left to look at."""
    seen = 0
    while step := Orchestrator(store).advance_batch().count:
        seen += step
    return seen


def statuses(store: Store, job_id: int) -> dict[tuple[str | None, int | None], str]:
    return {(task.stage, task.segment): task.status for task in store.reports.tasks(job_id, 100_000)}


def status(store: Store, job_id: int) -> str:
    row = store.reports.job(job_id)
    assert row is not None
    return row.status


def failure(store: Store, job_id: int) -> dict[str, Any]:
    row = store.reports.job(job_id)
    assert row is not None
    return json.loads(row.failure or "{}")


@contextlib.contextmanager
def connect(store: Store) -> Iterator[Any]:
    """A connection of the caller's own, as an application would open it."""
    if store.url.startswith("sqlite"):
        with contextlib.closing(apsw.Connection(store.url.removeprefix("sqlite:///"))) as connection:
            yield connection
    else:
        with contextlib.closing(psycopg.connect(store.url, autocommit=True)) as connection:
            yield connection


@contextlib.contextmanager
def looking(store: Store) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """Read tables directly, one query after the other; they have the same names in both dialects."""
    with connect(store) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")
        yield lambda query: connection.execute(query).fetchall()


def look(store: Store, query: str) -> list[tuple[Any, ...]]:
    """Read tables directly, once."""
    return rows(store.url, query)


def at_once(count: int, act) -> list[Any]:
    """Run `act(number)` in as many threads at the same time; raise what any of them raised."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(act, range(count)))


@contextlib.contextmanager
def ending(seconds: float = 120) -> Iterator[threading.Event]:
    """An event for loops in threads to end by; the time is only a guard against hanging."""
    over = threading.Event()
    timer = threading.Timer(seconds, over.set)
    timer.start()
    try:
        yield over
    finally:
        over.set()
        timer.cancel()
        timer.join()


def question(worker: int, **changes) -> PulseQuery:
    """What a quiet worker asks."""
    asked = PulseQuery(worker, '["default"]', '["a"]', wants_work=True, since=0, boot="boot", namespace="namespace")
    return structs.replace(asked, **changes)
