"""`Leasehold`: the one object a user holds. Each method is a line or two that lead to a noun."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from leasehold.app import submitting
from leasehold.app.deadletters import DeadLetterOperations
from leasehold.app.deliveries import DeliveryOperations
from leasehold.app.job import Job
from leasehold.app.journal import Journal
from leasehold.app.kinds import JobDecorator, KindRegistry, Pipeline
from leasehold.app.machines import MachineOperations
from leasehold.app.manual import ManualLeases
from leasehold.app.queues import QueueOperations
from leasehold.app.ready_store import ReadyStore
from leasehold.app.submitting import Scheduling
from leasehold.errors import Misuse, OptionInvalid
from leasehold.insight.read import jobs
from leasehold.model.failure.verdict import Failures
from leasehold.model.limits import PAGE_MAX
from leasehold.model.machine import Machine
from leasehold.model.names import check_choice, check_id, check_name, check_whole
from leasehold.model.status import Status
from leasehold.runtime.handlers import Handler
from leasehold.runtime.run import drain, serve
from leasehold.runtime.worker import QueueChoice, make_plan
from leasehold.store import Store, borrow_store, open_store
from leasehold.store.db.wake import ATTENTION

DEFAULT_URL = "sqlite:///leasehold.db"


class Leasehold:
    """Work that must not be lost and must not be done twice."""

    def __init__(self, url: str | None = None, *, connection: object = None) -> None:
        """Open the database a URL names; or work on a `connection` of yours (apsw's or sqlite3's), without workers."""
        if url and connection is not None:
            raise OptionInvalid("Pass a URL or a connection.")
        self.url = url or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL
        self.store: Store = open_store(self.url) if connection is None else borrow_store(connection)
        self._registry = KindRegistry()
        self._ready_store = ReadyStore(self.store, self._registry)
        self.job = JobDecorator(self, self._registry)
        self.machine = MachineOperations(self._ready_store)
        self.queues = QueueOperations(self._ready_store)
        self.journal = Journal(self._ready_store)
        self.deadletters = DeadLetterOperations(self._ready_store)
        self.deliveries = DeliveryOperations(self._ready_store)
        self.manual = ManualLeases(self._ready_store)

    def pipeline(self, name: str, *, failures: Failures = None, machine: Machine | None = None) -> Pipeline:
        """Register a pipeline; add stages with `@pipeline.stage`. `failures`: rules that classify exceptions first."""
        return self._registry.add(Pipeline(self, check_name(name, "kind"), failures, machine))

    def submit(
        self,
        what: object,
        payload: object = None,
        *,
        key: str | None = None,
        priority: int = 0,
        delay: float = 0.0,
        version: int | None = None,
        branch: str | None = None,
    ) -> Job:
        """Submit one job. The same kind and key again returns that job; with another payload it is a `KeyConflict`.

        With `version`, each version of the key is a separate job, under the key `key@version`. The same version again
        returns its job; a higher one runs as a new job, even while the version before still runs; a version lower
        than the newest one submitted is refused as `VersionStale`, one that was pruned as `VersionPruned`.
        `branch` names a branch of the kind's queue, such as a host: see `app.queues.limit`.
        """
        if version is None:
            branches = None if branch is None else [branch]
            return self.submit_many(what, [payload], keys=[key], priority=priority, delay=delay, branches=branches)[0]
        if key is None:
            raise OptionInvalid("A version belongs to a key; pass both.")
        scheduling = Scheduling(priority, delay, branch and [branch])
        definition, made = submitting.prepare(self._ready_store, what, [payload], [key], scheduling)
        store = self._ready_store.store
        return Job.submitted(store, submitting.submit_version(store, definition, made[0], version))

    def submit_many(
        self,
        what: object,
        payloads: Sequence[object],
        *,
        keys: Sequence[str | None] | None = None,
        priority: int = 0,
        delay: float = 0.0,
        branches: Sequence[str | None] | None = None,
    ) -> list[Job]:
        """Submit many jobs of one kind in one transaction: all or none."""
        scheduling = Scheduling(priority, delay, branches)
        for given, name in ((keys, "keys"), (branches, "branches")):
            if given is not None and len(given) != len(payloads):
                raise OptionInvalid(f"{len(payloads)} payloads need as many {name}; got {len(given)}.")
        definition, made = submitting.prepare(self._ready_store, what, payloads, keys, scheduling)
        store = self._ready_store.store
        return [Job.submitted(store, one) for one in submitting.submit(store, definition, made, are_new=keys is None)]

    @contextmanager
    def transaction(self, connection: object) -> Iterator[None]:
        """Submit within a transaction of the caller's own psycopg or apsw connection; both commit or neither does."""
        store = self._ready_store.store
        with store.transaction(connection):
            yield
        store.wake([ATTENTION])

    def get(self, job_id: int) -> Job:
        """Read a job; `JobUnknown` if there is none with this id."""
        check_id(job_id, "job", 0)
        store = self._ready_store.store
        return Job.of(store, jobs.find(store, job_id, whole=False))

    def jobs(
        self, *, status: str | None = None, kind: str | None = None, queue: str | None = None, limit: int = 50
    ) -> list[Job]:
        """List jobs, newest first."""
        check_choice(status, Status, "status")
        for name, what in ((kind, "kind"), (queue, "queue")):
            if name is not None:
                check_name(name, what)
        check_whole(limit, 1, PAGE_MAX, "limit")
        store = self._ready_store.store
        return [Job.of(store, seen) for seen in jobs.listing(store, status=status, kind=kind, queue=queue, limit=limit)]

    def cancel(self, job: Job | int, *, reason: str = "") -> Job:
        """Cancel a job with all its tasks; see `Job.cancel`."""
        return (job if isinstance(job, Job) else self.get(job)).cancel(reason)

    def work(self, *, concurrency: int = 50, queues: QueueChoice = None, grace: float = 30.0) -> None:
        """Run jobs and send deliveries until SIGTERM or SIGINT; then finish what runs within `grace` seconds."""
        plan = make_plan(self._handlers(), queues, concurrency, grace, self.deliveries.providers)
        serve(self._ready_store.published(), plan)

    def drain(
        self,
        *,
        concurrency: int = 50,
        queues: QueueChoice = None,
        timeout: float | None = None,
        wait_for_due: bool = True,
    ) -> None:
        """Run jobs and send deliveries until nothing is left that this app can do; without `wait_for_due`, now."""
        plan = make_plan(self._handlers(), queues, concurrency, 30.0, self.deliveries.providers)
        drain(self._ready_store.published(), plan, timeout, wait_for_due=wait_for_due)

    def migrate(self) -> tuple[int, int]:
        """Bring the schema to this version and make this app's kinds known; return the versions before and after."""
        versions = self.store.migrate()
        self._ready_store.published()
        return versions

    def close(self) -> None:
        """Close every connection."""
        self.store.close()

    def _handlers(self) -> dict[str, Handler]:
        if not self.store.url:
            raise Misuse("This app works on a connection of yours and runs no workers; open the database by its URL.")
        return self._registry.handlers()
