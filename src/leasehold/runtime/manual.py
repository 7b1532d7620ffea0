"""A manual lease: a job leased by a script that runs no worker. Only its holder renews the lease."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leasehold import clock
from leasehold.errors import LeaseLost, Misuse
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import Lease, Progress, Renewal, Settlement, retried
from leasehold.model.limits import DELAY_SECONDS_MAX, LEASE_SECONDS_MAX, LEASE_SECONDS_MIN
from leasehold.model.machine import Move
from leasehold.model.names import check_range
from leasehold.model.status import Status
from leasehold.model.tree.budget import Spend
from leasehold.model.tree.link import Link, wake_hints_in
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item, run_blocking
from leasehold.runtime.handlers import Handler
from leasehold.runtime.limits import RENEW_AGAIN_SECONDS
from leasehold.runtime.task import Task
from leasehold.store import Store

GIVEN_BACK = Failure("GIVEN_BACK", "its holder gave it back", retryable=True)


class Held:
    """A job that is leased: work with `task`, `renew` in time, and end with `done`, `fail` or `release`."""

    def __init__(self, store: Store, lease: Lease, handler: Handler, owner: str, *, effects: int = 0) -> None:
        """Hold a lease; `effects`: how many its holder has numbered before, in another process or connection."""
        self.owner = owner
        self.job_id = lease.job_id
        self.key = lease.key
        self.fence = lease.fence  # which lease of the job this is: every one has a higher number than those before
        self._store = store
        self._lease = lease
        sync = replace(handler, is_async=False)  # the script is the handler
        self._attempt = Attempt(lease, sync, clock.uptime())
        self._attempt.begin()
        self._channel = ManualChannel(store, lease)
        self.task = self._attempt.task = Task(lease, self._channel, sync, effects=effects)

    def renew(self, seconds: float) -> bool:
        """Hold it for `seconds` from now; False if the lease no longer stands. `task.cancelled` is up to date then."""
        check_range(seconds, LEASE_SECONDS_MIN, LEASE_SECONDS_MAX, "seconds")
        wanted = Renewal(self._lease.task_id, self._lease.fence, round(seconds * 1000))
        while found := self._store.leases.renew([wanted]):
            self._channel.cancelled = found[0].cancel_reason is not None
            if found[0].extended:
                return True
            threading.Event().wait(RENEW_AGAIN_SECONDS)
        self._channel.lost = True
        return False

    def release(self, *, delay: float = 0.0) -> bool:
        """Give it back, for anybody after `delay` seconds; False if the lease no longer stands."""
        check_range(delay, 0, DELAY_SECONDS_MAX, "delay (seconds)")
        if delay:
            failure = GIVEN_BACK.text()
            return self._settle(retried(self._lease, GIVEN_BACK, clock.microseconds(delay), failure)) is not None
        return bool(self._store.leases.reclaim([Reclaim(self._lease.task_id, self._lease.fence, "released")]))

    def done(self, output: Any = None) -> Status:
        """End the job as DONE, or as CANCELLED if it was cancelled meanwhile; `LeaseLost` if the lease is gone."""
        return self._end(run_blocking(self._attempt.conclude(output)))

    def fail(self, error: BaseException) -> Status:
        """End this attempt with an error: the job is retried or buried as its kind declares. `LeaseLost` as above."""
        return self._end(self._attempt.fail(error))

    def _end(self, settlement: Settlement) -> Status:
        status = self._settle(settlement)
        if status is None:
            raise LeaseLost
        return Status.READY if status == "RETRY" else Status(status)

    def _settle(self, settlement: Settlement) -> str | None:
        landed = self._store.leases.settle([settlement])
        self._channel.lost = True  # nothing more is done under it
        return landed[0].status if landed else None


class ManualChannel(CommitChannel):
    """How a task under a manual lease reaches the engine: each call is a transaction."""

    def __init__(self, store: Store, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self.cancelled = False  # its holder decides what follows: nothing is interrupted
        self.interrupted = False
        self.lost = False
        self.stopping = False

    def inputs(self) -> dict[str, Any]:
        return self._store.stages.inputs(self._lease.task_id)

    def report_progress(self, progress: str) -> None:
        report = Progress(self._lease.task_id, self._lease.fence, progress)
        self.lost = not self._store.leases.record_progress([report])

    def commit(self, item: Item, reply: AnyReply) -> None:
        entries = self._write(item)
        if not entries:
            self.lost = True
            raise LeaseLost
        reply.answer(entries[0])

    def _write(self, item: Item) -> list[Entry]:
        match item:
            case Move():
                return self._store.machines.move([item])
            case Intent():
                if self._store.database.is_bound:
                    raise Misuse("A transaction is open, and an effect begins when its intent is committed; end it.")
                return self._store.effects.enter([item], [])
            case Record():
                return self._store.effects.enter([], [item])
            case Spend():
                return self._store.budgets.spend([item])
            case Link():
                made = self._store.links.add([item])
                self._store.wake(wake_hints_in(made))
                return made

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        return self._store.effects.transact(intent, act)
