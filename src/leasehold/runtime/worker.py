"""The worker: puts the parts together, starts them, and takes them down in the right order."""

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial

from leasehold import clock
from leasehold.errors import KindUnknown, LeaseholdError, OptionInvalid, QueueUnserved, shown
from leasehold.model.failure.loss import Reclaim
from leasehold.model.limits import CONCURRENCY_MAX
from leasehold.model.names import base_of, check_name, check_range, check_whole, family_of
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt, Interruption, State
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.pending_file import PendingFile
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.deliver.relay import Relay
from leasehold.runtime.deliver.sender import Providers
from leasehold.runtime.execute.runner import Runner
from leasehold.runtime.handlers import Handler
from leasehold.runtime.hooks import Hooks
from leasehold.runtime.maintain.heartbeat import Heartbeat
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store, open_store
from leasehold.store.db.wake import ATTENTION, DUE, WOKEN_MAX, profile_of
from leasehold.store.workers import Pulse, Serving

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
    hooks: Hooks = field(default_factory=Hooks)
    shutdown_seconds: float = limits.SHUTDOWN_SECONDS


def make_plan(
    handlers: Mapping[str, Handler],
    queues: QueueChoice,
    concurrency: int,
    grace: float,
    providers: Providers,
    hooks: Hooks | None = None,
) -> WorkerPlan:
    """Check and complete the options of a caller: without queues, every queue that has a handler here."""
    if not handlers:
        raise KindUnknown("This app has no handlers; decorate a function with @app.job before it works.")
    check_whole(concurrency, 1, CONCURRENCY_MAX, "concurrency")
    check_range(grace, 0, 24 * 3600, "grace (seconds)")
    served = {handler.terms.queue for handler in handlers.values()}
    if isinstance(queues, str) or (queues is not None and not queues):
        raise OptionInvalid(f"queues is a list of names, or a mapping of names to caps; got {shown(queues)}.")
    named = sorted(served) if queues is None else queues
    chosen = dict(named) if isinstance(named, Mapping) else dict.fromkeys(named)
    for name, cap in chosen.items():
        if check_name(name, "queue") not in served:
            raise QueueUnserved(f"The queue is '{name}'; handlers here are for {', '.join(sorted(served))}.")
        if cap is not None:
            check_whole(cap, 1, CONCURRENCY_MAX, f"The cap of queue '{name}'")
    return WorkerPlan(handlers, chosen, int(concurrency), float(grace), dict(providers), hooks or Hooks())


def shorten_switch_interval() -> None:
    """Have threads take turns more often, unless somebody has set how often.

    Else a part that has its answer from the database waits up to 5 ms for a busy handler, and so does a heartbeat.
    """
    if sys.getswitchinterval() == limits.SWITCH_DEFAULT_SECONDS:
        sys.setswitchinterval(limits.SWITCH_SECONDS)


class PassOnLimit:
    """How often a worker without room passes wake-ups on: a few at once, then one in a while.

    If every worker is full, each wake-up would go round among them all; the first that has room claims anyway.
    """

    def __init__(self) -> None:
        self._left = float(limits.PASS_ON_MAX)
        self._counted_at = clock.uptime()

    def allows(self) -> bool:
        """Count one more; return whether it may be sent."""
        now = clock.uptime()
        self._left += (now - self._counted_at) / clock.microseconds(limits.PASS_ON_SECONDS)
        self._left, self._counted_at = min(self._left, limits.PASS_ON_MAX), now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Worker:
    """One worker process's engine. `start`, then `stop`; in between it runs by itself."""

    def __init__(self, store: Store, plan: WorkerPlan) -> None:
        self._store = store
        self._plan = plan
        self._stores = ExitStack()
        self._owner = this_process()
        self._held = HeldAttempts(plan.concurrency, plan.queues, PendingFile.make(plan.concurrency))
        serving = Serving(plan.queues, sorted(plan.handlers), plan.concurrency)
        self.id = store.workers.register(self._owner, serving, self._held.pending.name)
        self._events = EventLog(worker=self.id)
        queues = sorted(plan.queues)
        # What is asked of the database when nothing is held, and what is written under a lease: one connection of each
        # stays open, so that a job that comes after a rest starts at once, and what it does can be written.
        self._quiet_store = self._open_store(connections=2)
        self._lease_store = self._open_store(connections=3)
        self._upkeep = self._make_upkeep(queues)
        self._committer = Committer(self._lease_store, self._held, self._events, self._upkeep.poll_now)
        self._claimer = Claimer(
            self._quiet_store.sibling(),
            self.id,
            plan.handlers,
            queues,
            self._held,
            self._committer,
            self._events,
            self._on_claimed,
            reserve=self._lease_store.reserve,
            on_more=self._on_more,
        )
        self._runner = Runner(store, self._held, self._committer, self._events, self._claimer.suspects)
        patient = self._lease_store.sibling(limits.RENEW_PATIENCE_SECONDS)
        self._heartbeat = Heartbeat(patient, self._held, self._events, self._runner.abandon)
        self._relay_store = self._open_store()
        self._relay = Relay(self._relay_store, plan.providers, self._events, self.id) if plan.providers else None
        self._shutdown_store = self._lease_store.sibling(limits.SHUTDOWN_PATIENCE_SECONDS)
        self._listener = store.listener(profile_of(queues, plan.handlers))
        self._passing = PassOnLimit()
        self._listener_thread = threading.Thread(target=self._listen, name="leasehold-listener", daemon=True)
        self._stopped = threading.Event()
        self._has_started = False

    def _make_upkeep(self, queues: list[str]) -> Upkeep:
        return Upkeep(
            self._quiet_store.sibling(limits.UPKEEP_PATIENCE_SECONDS),
            self.id,
            self._owner,
            self._events,
            queues=queues,
            routes=self._plan.handlers,
            providers=self._plan.providers,
            on_pulse=self._on_pulse,
            on_ready=self._on_ready,
            on_returned=self._on_returned,
            wants_work=lambda: self._claimer.idle,
        )

    def _open_store(self, connections: int = 1) -> Store:
        """Open connections for parts that may use them at once, so that none waits for another."""
        return self._stores.enter_context(closing(open_store(self._store.url, connections=connections)))

    def _close_rested(self) -> None:
        rest = limits.CONNECTION_REST_SECONDS
        for store, keep in ((self._quiet_store, 1), (self._lease_store, 1), (self._relay_store, 0), (self._store, 0)):
            store.close_rested(rest, keep)

    def start(self) -> None:
        shorten_switch_interval()
        self._committer.start()
        self._call_start_hooks()
        self._upkeep.start()
        self._listener_thread.start()
        self._claimer.start()
        if self._relay is not None:
            self._relay.start()
        self._events.started(sorted(self._plan.queues), self._plan.concurrency)

    def _call_start_hooks(self) -> None:
        try:
            self._plan.hooks.start(self._runner.run_on_loop)
        except BaseException:
            self.stop(0)
            self._listener.close()  # its thread was never started
            raise
        self._has_started = True

    def stop(self, grace: float | None = None) -> int:
        """Stop claiming, release what has not started, let the rest finish within its grace; return what was left.

        Attempts and deliveries have one grace together: a service manager waits about that long.
        """
        self._held.is_stopping = True  # before all that may have to wait for the database
        over = time.monotonic() + (self._plan.grace if grace is None else grace)
        if self._relay is not None:
            self._relay.stop_claiming()
        self._claimer.close()
        released = self._release_unstarted()
        self._events.stopping(released, self._held.running())
        self._held.capacity.await_idle(max(0.0, over - time.monotonic()))
        self._committer.close(self._plan.shutdown_seconds)
        if self._relay is not None:
            self._relay.close(over - time.monotonic())
        left = self._abandon()
        if self._has_started:
            failed = partial(self._events.component_failed, "on_stop")
            self._plan.hooks.stop(self._runner.run_on_loop, failed)
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
        self._heartbeat.on_claimed(attempts)
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
            self._store.wake({one.queue for one in reclaimed}, self._listener.address)
        return len(reclaimed)

    def _abandon(self) -> int:
        """Have what the grace was too short for stop where it can be stopped: nobody renews its lease from here on."""
        late = [attempt for attempt in self._held.all() if attempt.state is State.RUNNING and attempt.lose()]
        for attempt in late:
            self._events.lease_lost(attempt.lease, "still running when the grace was over")
        return len(late)

    def _deregister(self, left: int) -> None:
        """Deregister, unless something is left: the worker that finds this process gone takes it back."""
        is_sending = self._relay is not None and self._relay.busy > 0
        try:
            if left == 0 and not is_sending and not self._shutdown_store.leases.held_by(self.id):
                self._shutdown_store.workers.deregister([self.id])
                self._held.pending.close()
        except LeaseholdError as error:
            self._events.component_failed("worker", error)

    def _on_pulse(self, pulse: Pulse) -> None:
        self._claimer.set_limits(frozenset(pulse.limited), branched=pulse.branched)
        self._claimer.on_suspects(pulse.suspects)
        for task_id, fence, _ in pulse.cancels:
            attempt = self._held.get(task_id, fence)
            if attempt is not None:
                attempt.interrupt(Interruption.CANCELLED)
        if pulse.ready:  # though the claimer found nothing
            self._claimer.on_returned()
        elif pulse.branched:
            self._claimer.wake()
        if self._relay is not None:
            self._relay.on_pulse(pulse)
        self._close_rested()

    def _on_ready(self, queues: set[str]) -> None:
        self._on_wake_up(queues)
        self._store.wake(queues)

    def _on_more(self, queues: set[str], claimed: int) -> None:
        """Wake others, more of them if this worker has just got many: there may be work for them too."""
        self._store.wake(queues, self._listener.address, min(claimed, WOKEN_MAX))

    def _on_returned(self) -> None:
        self._claimer.on_returned()

    def _on_hints(self, words: set[str]) -> None:
        """Act on hints of other processes; those that there is no room for go to another worker."""
        self._on_wake_up(words)
        if words & {ATTENTION, DUE}:
            self._upkeep.poll_now()
        full = {word for word in words if base_of(word) in self._plan.queues and self._held.capacity.free_in(word) <= 0}
        if full and self._passing.allows():
            self._store.wake(full, self._listener.address, 1)

    def _on_wake_up(self, words: set[str]) -> None:
        """Wake the claimer if one of these is a queue of its, or has branches that are."""
        served = {word for word in words if base_of(word) in self._plan.queues}
        if any(family_of(word) for word in served):
            self._claimer.on_branch_ready()
        elif served:
            self._claimer.wake()

    def _listen(self) -> None:
        while not self._stopped.is_set():
            self._on_hints(self._listener.wait(limits.LISTEN_SECONDS))
            self._listener.show(is_full=self._held.capacity.free() <= 0)
        self._listener.close()
