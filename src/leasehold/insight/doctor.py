"""The doctor: checks an installation and its database. It returns findings; the command prints them.

It changes nothing, creates no file, and shows no password.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import metadata
from typing import Final

from msgspec import Struct

from leasehold import clock
from leasehold.errors import LeaseholdError
from leasehold.insight import disk, pins
from leasehold.insight.finding import Finding, Grade, ok
from leasehold.insight.limits import CLOCK_SKEW_SECONDS_MAX, DOCTOR_SECONDS, EXPIRED_SECONDS_MAX
from leasehold.insight.read.deliveries import unserved
from leasehold.insight.unserved import find_unserved
from leasehold.model.owner import Owner
from leasehold.redact.database_url import masked, safe_text
from leasehold.store import Store, open_store
from leasehold.store.db import migrate
from leasehold.store.db.sqlite import VERSION_MIN, SqliteDialect
from leasehold.store.deliveries import Backlog
from leasehold.store.workers import PulseQuery

NOBODY: Final = 0

IsGone = Callable[[int, int], bool]

__all__ = ["Finding", "Grade", "examine"]


class WorkerCounts(Struct, frozen=True):
    """Registered workers: all, those of this host that are alive or gone, and others, which cannot be checked."""

    registered: int
    alive: int
    unknown: int
    gone: int = 0

    @property
    def is_none_left(self) -> bool:
        """Whether there were workers, and every one of them is gone without having ended."""
        return self.gone > 0 and self.gone == self.registered


def examine(url: str, owner: Owner, is_gone: IsGone, wall: Callable[[], int] = clock.wall) -> list[Finding]:
    """Check everything that can be reached. `is_gone` returns whether a process of this host has ended."""
    findings = [ok("leasehold", metadata.version("leasehold")), ok("python", platform.python_version())]
    findings += [_driver("apsw"), _driver("psycopg")]
    try:
        with closing(open_store(url, connections=1, retry_seconds=DOCTOR_SECONDS)) as store:
            findings += _database(store, owner, is_gone, wall)
    except LeaseholdError as error:
        findings.append(Finding("database", Grade.WRONG, masked(url), safe_text(error, url)))
    return findings


def _database(store: Store, owner: Owner, is_gone: IsGone, wall: Callable[[], int]) -> Iterator[Finding]:
    dialect = store.database.dialect
    if isinstance(dialect, SqliteDialect) and not dialect.path.exists():
        advice = "There is no such file; run `leasehold migrate` to make it, or give another --url."
        yield Finding("database", Grade.WRONG, masked(store.url), advice)
        return
    schema = check_schema(store.schema_version(), migrate.latest(dialect.name))
    yield ok("database", masked(store.url))
    yield schema
    if schema.grade is not Grade.WRONG:
        yield from _signs(store, owner, is_gone, wall)


def _signs(store: Store, owner: Owner, is_gone: IsGone, wall: Callable[[], int]) -> Iterator[Finding]:
    asked_at = wall()
    health = store.reports.health()
    host = (asked_at + wall()) // 2
    workers = _count_workers(store, owner, is_gone, health.workers)
    server = health.version.split(" on ")[0]
    if store.database.dialect.name == "sqlite":
        server += f" (at least {'.'.join(map(str, VERSION_MIN))} is needed)"
    yield ok("server", server)
    yield check_clock((health.now - host) / clock.SECOND)
    places = f"{health.waiting} NEW, {health.ready} READY, {health.running} RUNNING"
    yield ok("tasks", f"{places}; {health.unsettled} ends that the orchestrator has not seen")
    yield check_workers(workers, health.ready + health.unsettled, health.running)
    yield find_unserved(store, health.now, owner, is_gone)
    yield check_letters(*store.deadletters.count())
    expired = None if health.expired_at is None else (health.now - health.expired_at) / clock.SECOND
    yield check_expired(expired, workers.alive)
    yield check_deliveries(store.deliveries.backlogs())
    yield pins.check(store)
    if isinstance(store.database.dialect, SqliteDialect):
        yield disk.check(store.database.dialect.path)


def check_schema(found: int, known: int) -> Finding:
    """Compare the database's schema with the one this engine was made for."""
    text = f"version {found}, this engine knows {known}"
    if found > known:
        return Finding("schema", Grade.WRONG, text, "A newer Leasehold has migrated it; upgrade this one.")
    if 0 < found < migrate.FIRST:
        return Finding("schema", Grade.WRONG, text, "It was made by a version before 0.1; create a new database.")
    if found < known:
        return Finding("schema", Grade.WRONG, text, "Run `leasehold migrate`.")
    return ok("schema", text)


def check_clock(skew: float) -> Finding:
    """Compare the database's clock with this host's. Leases follow the database's: a skew only misleads people."""
    text = f"the database is {abs(skew):.3f} s {'ahead of' if skew >= 0 else 'behind'} this host"
    if abs(skew) <= CLOCK_SKEW_SECONDS_MAX:
        return ok("clock", text)
    advice = f"More than {CLOCK_SKEW_SECONDS_MAX:g} s: times that people compare mislead; synchronise the clocks (NTP)."
    return Finding("clock", Grade.WARN, text, advice)


def check_workers(workers: WorkerCounts, due: int, running: int = 0) -> Finding:
    """Count the workers; none known to be alive is a warning while tasks wait, or if the last one was killed."""
    text = f"{workers.registered} registered, {workers.alive} known alive on this host"
    if workers.gone:
        text += f", {workers.gone} gone"
    if workers.unknown:
        text += f", {workers.unknown} registered elsewhere or before"
    if workers.alive or not (due or workers.is_none_left):
        return ok("workers", text)
    waiting = due + running if workers.is_none_left else due
    tasks = "1 task waits" if waiting == 1 else f"{waiting:,} tasks wait"
    advice = f"{tasks} for one; start `leasehold worker module:app`" if waiting else "Start another"
    if workers.is_none_left:
        advice = f"The last worker was killed or crashed. {advice}"
    if workers.unknown:
        advice += ", unless those registered elsewhere still run: that cannot be seen from here"
    return Finding("workers", Grade.WARN, text, f"{advice}.")


def check_expired(seconds: float | None, alive: int) -> Finding:
    """Check the oldest expired lease: a sweeper reclaims such leases within a second or two."""
    if seconds is None:
        return ok("expired leases", "none")
    text = f"the oldest expired {seconds:.1f} s ago"
    if seconds <= EXPIRED_SECONDS_MAX:
        return ok("expired leases", text)
    nobody = "Nobody takes it back; start a worker or `leasehold orchestrate`."
    others = "Workers are registered but none takes it back; read their logs, or start `leasehold orchestrate`."
    return Finding("expired leases", Grade.WRONG, text, others if alive else nobody)


def check_deliveries(backlogs: Sequence[Backlog]) -> Finding:
    """Find deliveries that no relay sends, and those that wait for a person."""
    late = {one.provider: waited for one in backlogs if (waited := unserved(one)) is not None}
    if late:
        text = ", ".join(f"{name}: due for {waited:.0f} s" for name, waited in late.items())
        advice = "No relay serves these providers, or it is stuck; run `leasehold relay module:app` of an app that has"
        return Finding("deliveries", Grade.WRONG, text, f"{advice} them, and check their spelling in task.deliver.")
    open_ones = {
        "in doubt": sum(one.in_doubt for one in backlogs),
        "failed": sum(one.failed for one in backlogs),
        "reconciling": sum(one.reconciling for one in backlogs),
        "marked without evidence": sum(one.inconsistent for one in backlogs),
    }
    text = ", ".join(f"{number} {what}" for what, number in open_ones.items() if number)
    if not text:
        return ok("deliveries", "none waits for a person")
    advice = "See `leasehold deliveries list --status in_doubt` (or failed); settle them with `reconcile` and `answer`."
    return Finding("deliveries", Grade.WARN, text, advice)


def check_letters(waiting: int, escalated: int) -> Finding:
    """Count dead letters that wait for an operator; one that failed again after a revival needs an engineer."""
    text = f"{waiting} open, {escalated} of them escalated"
    if not waiting:
        return ok("dead letters", text)
    advice = "Tasks failed for good; see `leasehold dead list --state open`."
    if escalated:
        advice = "A revival did not help; see `leasehold dead list --state open --escalated`."
    return Finding("dead letters", Grade.WARN, text, advice)


def _count_workers(store: Store, owner: Owner, is_gone: IsGone, registered: int) -> WorkerCounts:
    """Separate workers whose processes can be checked from those of other hosts, namespaces and boots."""
    if not owner.shares_kernel_with(owner):
        return WorkerCounts(registered, alive=0, unknown=registered)
    query = PulseQuery(NOBODY, "[]", "[]", wants_work=False, since=0, boot=owner.boot, namespace=owner.namespace)
    neighbours = store.workers.pulse(query).neighbours
    gone = sum(is_gone(one.pid, one.birth) for one in neighbours)
    unknown = max(0, registered - len(neighbours))
    return WorkerCounts(registered, len(neighbours) - gone, unknown, gone)


def _driver(name: str) -> Finding:
    try:
        return ok(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        return ok(name, "not installed; PostgreSQL needs it: pip install 'leasehold[postgres]'")
