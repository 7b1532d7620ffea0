"""The worker: puts the parts together, starts them, and takes them down in the right order."""

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from leasehold.errors import KindUnknown, LeaseholdError, OptionInvalid, QueueUnserved
from leasehold.model.lease import Reclaim
from leasehold.model.limits import CONCURRENCY_MAX
from leasehold.model.names import base_of, check_name, check_range, check_whole, family_of
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.deliver.relay import Relay
from leasehold.runtime.deliver.sender import Providers
from leasehold.runtime.execute.runner import Runner
from leasehold.runtime.handlers import Handler
from leasehold.runtime.maintain.heartbeat import Heartbeat
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store, open_store
from leasehold.store.db.limits import RETRY_SECONDS
from leasehold.store.db.wake import ATTENTION
from leasehold.store.workers import Pulse

QueueChoice = Sequence[str] | Mapping[str, int | None] | None


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What a worker is to do: what it can run, from which queues (with caps of its own), how much at once.

    With `providers` it is a relay too, for deliveries of these providers. `shutdown_seconds` is how long it waits
    at the end for committer and upkeep if the database is away.
    """

    handlers: Mapping[str, Handler]
    queues: Mapping[str, int | None]
    concurrency: int = 50
    grace: float = 30.0
    providers: Providers = field(default_factory=dict)
    shutdown_seconds: float = limits.SHUTDOWN_SECONDS


def make_plan(
    handlers: Mapping[str, Handler], queues: QueueChoice, concurrency: int, grace: float, providers: Providers
) -> WorkerPlan:
    """Check and complete the options of a caller: without queues, every queue that has a handler here."""
    if not handlers:
        raise KindUnknown("This app has no handlers; decorate a function with @app.job before it works.")
    check_whole(concurrency, 1, CONCURRENCY_MAX, "concurrency")
    check_range(grace, 0, 24 * 3600, "grace (seconds)")
    served = {handler.terms.queue for handler in handlers.values()}
    if isinstance(queues, str) or (queues is not None and not queues):
        raise OptionInvalid(f"queues is a list of names, or a mapping of names to caps; got {queues!r}.")
    named = sorted(served) if queues is None else queues
    chosen = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named)
    for name, cap in chosen.items():
        if check_name(name, "queue") not in served:
            raise QueueUnserved(f"The queue is '{name}'; handlers here are for {', '.join(sorted(served))}.")
        if cap is not None:
            check_whole(cap, 1, CONCURRENCY_MAX, f"The cap of queue '{name}'")
    return WorkerPlan(handlers, chosen, int(concurrency), float(grace), dict(providers))


def shorten_switch_interval() -> None:
    """Have threads take turns more often, unless somebody has set how often.

    Else a part that has its answer from the database waits up to 5 ms for a busy handler, and so does a heartbeat.
    """
    if sys.getswitchinterval() == limits.SWITCH_DEFAULT_SECONDS:
        sys.setswitchinterval(limits.SWITCH_SECONDS)


class Worker:
    """One worker process's engine. `start`, then `stop`; in between it runs by itself."""

    def __init__(self, store: Store, plan: WorkerPlan) -> None:
        self._store = store
        self._plan = plan
        self._stores = ExitStack()
        self._owner = this_process()
        self.id = store.workers.register(self._owner)
        self._events = EventLog(worker=self.id)
        self._held = HeldAttempts(plan.concurrency, plan.queues)
        queues = sorted(plan.queues)
        self._upkeep = Upkeep(
            self._open_store(),
            self.id,
            self._owner,
            self._events,
            queues=queues,
            routes=plan.handlers,
            providers=plan.providers,
            on_pulse=self._on_pulse,
            on_ready=self._on_ready,
            wants_work=lambda: self._claimer.idle,
        )
        self._committer = Committer(self._open_store(), self._held, self._events, self._upkeep.poll_now)
        self._heartbeat = Heartbeat(self._open_store(limits.RENEW_PATIENCE_SECONDS), self._held, self._events)
        self._runner = Runner(store, self._held, self._committer, self._events)
        self._claimer = Claimer(
            self._open_store(),
            self.id,
            plan.handlers,
            queues,
            self._held,
            self._committer,
            self._events,
            self._on_claimed,
        )
        self._relay = Relay(self._open_store(), plan.providers, self._events) if plan.providers else None
        self._shutdown_store = self._open_store(limits.SHUTDOWN_PATIENCE_SECONDS)
        self._listener_thread = threading.Thread(target=self._listen, name="leasehold-listener", daemon=True)
        self._stopped = threading.Event()

    def _open_store(self, retry_seconds: float = RETRY_SECONDS) -> Store:
        """Open a connection for one part, so that none waits for another."""
        store = open_store(self._store.url, connections=1, retry_seconds=retry_seconds)
        return self._stores.enter_context(closing(store))

    def start(self) -> None:
        shorten_switch_interval()
        self._committer.start()
        self._heartbeat.start()
        self._runner.start()
        self._upkeep.start()
        self._listener_thread.start()
        self._claimer.start()
        if self._relay is not None:
            self._relay.start()
        self._events.started(sorted(self._plan.queues), self._plan.concurrency)

    def stop(self, grace: float | None = None) -> int:
        """Stop claiming, release what has not started, let the rest finish within its grace; return what was left."""
        self._held.is_stopping = True  # before all that may have to wait for the database
        self._claimer.close()
        released = self._release_unstarted()
        self._events.stopping(released, self._held.running())
        grace = self._plan.grace if grace is None else grace
        self._held.capacity.await_idle(grace)
        self._committer.close(self._plan.shutdown_seconds)
        if self._relay is not None:
            self._relay.close(grace)
        left = self._abandon()
        self._stopped.set()
        self._heartbeat.close()
        self._upkeep.close(self._plan.shutdown_seconds)
        self._runner.close()
        self._deregister(left)
        self._stores.close()
        self._events.stopped(left)
        return left

    def join_listener(self) -> None:
        """Wait until nobody listens for wake-ups any more, so that a process that ends leaves no socket behind."""
        self._store.wake([ATTENTION])
        self._listener_thread.join(timeout=10 * limits.LISTEN_SECONDS)

    @property
    def busy(self) -> int:
        return self._held.capacity.busy + (0 if self._relay is None else self._relay.busy)

    def _on_claimed(self, attempts: list[Attempt]) -> None:
        self._heartbeat.on_claimed(min(attempt.lease.lease_ms for attempt in attempts))
        self._runner.run(attempts)

    def _release_unstarted(self) -> int:
        released = [attempt for attempt in self._held.all() if attempt.release()]
        self._held.drop_all(released)
        reclaims = [Reclaim(attempt.lease.task_id, attempt.lease.fence, "released") for attempt in released]
        try:
            reclaimed = self._shutdown_store.leases.reclaim(reclaims) if reclaims else []
        except LeaseholdError as error:
            self._events.component_failed("worker", error)
            return 0
        if reclaimed:
            self._store.wake({one.queue for one in reclaimed})
        return len(reclaimed)

    def _abandon(self) -> int:
        """Have what the grace was too short for stop where it can be stopped: nobody renews its lease from here on."""
        late = [attempt for attempt in self._held.all() if attempt.state is State.RUNNING and attempt.lose()]
        for attempt in late:
            self._events.lease_lost(attempt.lease, "still running when the grace was over")
        return len(late)

    def _deregister(self, left: int) -> None:
        """Deregister, unless leases are left: the worker that finds this process gone reclaims them."""
        try:
            if left == 0 and not self._shutdown_store.leases.held_by(self.id):
                self._shutdown_store.workers.deregister([self.id])
        except LeaseholdError as error:
            self._events.component_failed("worker", error)

    def _on_pulse(self, pulse: Pulse) -> None:
        self._claimer.set_limits(frozenset(pulse.limited), branched=pulse.branched)
        for task_id, fence, reason in pulse.cancels:
            attempt = self._held.get(task_id, fence)
            if attempt is not None:
                attempt.cancel_reason = reason
        if pulse.ready or pulse.branched:
            self._claimer.wake()
        if self._relay is not None:
            self._relay.on_pulse(pulse)

    def _on_ready(self, queues: set[str]) -> None:
        self._on_wake_up(queues)
        self._store.wake(queues)

    def _on_wake_up(self, words: set[str]) -> None:
        """Wake the claimer if one of these is a queue of its, or has branches that are."""
        served = {word for word in words if base_of(word) in self._plan.queues}
        if any(family_of(word) for word in served):
            self._claimer.on_branch_ready()
        elif served:
            self._claimer.wake()

    def _listen(self) -> None:
        listener = self._store.listener()
        while not self._stopped.is_set():
            words = listener.wait(limits.LISTEN_SECONDS)
            self._on_wake_up(words)
            if ATTENTION in words:
                self._claimer.wake()
                self._upkeep.poll_now()
        listener.close()
