"""`Leasehold`: the one object a user holds. Each method is a line or two that lead to a noun."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from leasehold.app import submitting
from leasehold.app.connections import borrow
from leasehold.app.deadletters import DeadLetterOperations
from leasehold.app.deliveries import DeliveryOperations
from leasehold.app.hooks import AroundDecorator, StartDecorator, StopDecorator
from leasehold.app.job import Job
from leasehold.app.journal import Journal
from leasehold.app.kinds import JobDecorator, KindRegistry, Pipeline
from leasehold.app.machines import MachineOperations
from leasehold.app.manual import ManualLeases
from leasehold.app.moved import moved
from leasehold.app.queues import QueueOperations
from leasehold.app.ready_store import ReadyStore
from leasehold.app.submitting import Scheduling
from leasehold.errors import Misuse, OptionInvalid
from leasehold.insight.read import jobs
from leasehold.model.failure.verdict import Failures
from leasehold.model.machine import Machine
from leasehold.model.names import check_id, check_key, check_name
from leasehold.runtime.handlers import Handler
from leasehold.runtime.run import drain, serve
from leasehold.runtime.worker import QueueChoice, make_plan
from leasehold.store import Store, borrow_store, open_store

DEFAULT_URL = "sqlite:///leasehold.db"


class Leasehold:
    """Work that must not be lost and must not be done twice."""

    def __init__(self, url: str | None = None, *, connection: object = None) -> None:
        """Open the database a URL names; or work on a `connection` of yours (apsw's or sqlite3's), without workers."""
        if url and connection is not None:
            raise OptionInvalid("Pass a URL or a connection.")
        self.url = moved(url or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL)
        self.store: Store = open_store(self.url) if connection is None else borrow_store(connection)
        self._registry = KindRegistry()
        self._ready_store = ReadyStore(self.store, self._registry)
        self.job = JobDecorator(self, self._registry)
        self.around = AroundDecorator(self._registry.hooks)
        self.on_start = StartDecorator(self._registry.hooks)
        self.on_stop = StopDecorator(self._registry.hooks)
        self.machine = MachineOperations(self._ready_store)
        self.queues = QueueOperations(self._ready_store)
        self.journal = Journal(self._ready_store)
        self.deadletters = DeadLetterOperations(self._ready_store)
        self.deliveries = DeliveryOperations(self._ready_store)
        self.manual = ManualLeases(self._ready_store)

    def pipeline(
        self, name: str, *, failures: Failures = None, machine: Machine | None = None, deadline: float | None = None
    ) -> Pipeline:
        """Register a pipeline; add stages with `@pipeline.stage`. `failures`: rules that classify exceptions first.

        `deadline`: how many seconds after its submit a job must have ended, with all its stages.
        """
        arounds = self._registry.hooks.arounds
        return self._registry.add(Pipeline(self, check_name(name, "kind"), failures, machine, arounds, deadline))

    def submit(  # noqa: PLR0913 — every option is named at the call
        self,
        what: object,
        payload: object = None,
        *,
        key: str | None = None,
        priority: int = 0,
        delay: float = 0.0,
        version: int | None = None,
        branch: str | None = None,
        deadline: float | None = None,
        budget: Mapping[str, int] | None = None,
    ) -> Job:
        """Submit one job. The same kind and key again returns that job; with another payload it is a `KeyConflict`.

        With `version`, each version of the key is a separate job, under the key `key@version`. The same version again
        returns its job; a higher one runs as a new job, even while the version before still runs; a version lower
        than the newest one submitted is refused as `VersionStale`, one that was pruned as `VersionPruned`.
        `branch` names a branch of the kind's queue, such as a host: see `app.queues.limit`. `deadline`: how many
        seconds from now it must have ended, instead of its kind's; else it is cancelled, with the class TIMEOUT.
        `budget`: how much the job and everything below it may spend with `task.spend`, such as {"tokens": 20_000}.
        """
        scheduling = Scheduling(priority, delay, None if branch is None else [branch], deadline, budget)
        if version is None:
            return self._submit(what, [payload], [key], scheduling)[0]
        if key is None:
            raise OptionInvalid("A version belongs to a key; pass both.")
        definition, made = submitting.prepare(self._ready_store, what, [payload], [key], scheduling)
        store = self._ready_store.store
        return Job.submitted(store, submitting.submit_version(store, definition, made[0], version, budget))

    def submit_many(
        self,
        what: object,
        payloads: Sequence[object],
        *,
        keys: Sequence[str | None] | None = None,
        priority: int = 0,
        delay: float = 0.0,
        branches: Sequence[str | None] | None = None,
        deadline: float | None = None,
        budget: Mapping[str, int] | None = None,
    ) -> list[Job]:
        """Submit many jobs of one kind in one transaction: all or none. Each has a `budget` of its own."""
        scheduling = Scheduling(priority, delay, branches, deadline, budget)
        for given, name in ((keys, "keys"), (branches, "branches")):
            if given is not None and len(given) != len(payloads):
                raise OptionInvalid(f"{len(payloads)} payloads need as many {name}; got {len(given)}.")
        return self._submit(what, payloads, keys, scheduling)

    def _submit(
        self, what: object, payloads: Sequence[object], keys: Sequence[str | None] | None, scheduling: Scheduling
    ) -> list[Job]:
        definition, made = submitting.prepare(self._ready_store, what, payloads, keys, scheduling)
        store = self._ready_store.store
        answers = submitting.submit(store, definition, made, scheduling.budget, are_new=keys is None)
        return [Job.submitted(store, one) for one in answers]

    @contextmanager
    def transaction(self, connection: object) -> Iterator[None]:
        """Submit within a transaction of yours: rows and jobs are committed together, or neither is.

        `connection` is psycopg's or apsw's, or on PostgreSQL a SQLAlchemy `Session` or `Connection`, or Django's. A
        transaction that you began, and one of SQLAlchemy, is yours to commit after the block.
        """
        store = self._ready_store.store
        with borrow(connection, store) as borrowed, store.transaction(borrowed.connection, borrowed.after_commit):
            yield

    def get(self, job_id: int) -> Job:
        """Read a job; `JobUnknown` if there is none with this id."""
        check_id(job_id, "job", 0)
        store = self._ready_store.store
        return Job.of(store, jobs.find(store, job_id, whole=False))

    def find(self, kind: object, key: str, *, version: int | None = None) -> Job | None:
        """Find a job by its kind (a name, or what `@app.job` made) and key; None if there is none."""
        name = check_name(getattr(kind, "name", kind), "kind")
        store = self._ready_store.store
        found = jobs.find_by_key(store, name, check_key(submitting.versioned(check_key(key), version)))
        return None if found is None else Job.of(store, found)

    def jobs(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        queue: str | None = None,
        key_prefix: str | None = None,
        before: Job | int | None = None,
        limit: int = 50,
    ) -> list[Job]:
        """List jobs, newest first: at most `limit`, and only those submitted before the job `before`, if there is one.

        `jobs(before=page[-1])` is the next page. With `key_prefix`, jobs of this kind whose keys start so.
        """
        oldest = before.id if isinstance(before, Job) else before
        wanted = jobs.JobFilter(status, kind, queue, key_prefix, oldest, limit)
        store = self._ready_store.store
        return [Job.of(store, found) for found in jobs.listing(store, wanted)]

    def cancel(self, job: Job | int, *, reason: str = "", request: str | None = None) -> Job:
        """Cancel a job with all its tasks and all jobs below it; see `Job.cancel`."""
        return (job if isinstance(job, Job) else self.get(job)).cancel(reason, request=request)

    def work(self, *, concurrency: int = 50, queues: QueueChoice = None, grace: float = 30.0) -> None:
        """Run jobs and send deliveries until SIGTERM or SIGINT; then finish what runs within `grace` seconds."""
        plan = make_plan(self._handlers(), queues, concurrency, grace, self.deliveries.providers, self._registry.hooks)
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
        plan = make_plan(self._handlers(), queues, concurrency, 30.0, self.deliveries.providers, self._registry.hooks)
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
