"""Running a worker to an end: until a signal, or until nothing is left; and an orchestrator alone."""

import math
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import Final

from leasehold.errors import LeaseholdError, Misuse, WaitTimeout, number_text
from leasehold.processes import Stop, stop_on_signals
from leasehold.runtime import limits
from leasehold.runtime.deliver.relay import Relay
from leasehold.runtime.deliver.sender import Providers
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.observe.records import redacted_records
from leasehold.runtime.process_identity import this_process
from leasehold.runtime.worker import Worker, WorkerPlan
from leasehold.store import Store, open_store
from leasehold.store.db.documents import document
from leasehold.store.workers import PulseQuery

FORCED_EXIT: Final = 1
_is_isolated = False
_is_loading = False


def serve(store: Store, plan: WorkerPlan) -> int:
    """Work until SIGTERM or SIGINT; return how many attempts the grace was too short for."""
    _refuse_inside_handler()
    with _stop_signals() as stop, redacted_records():
        worker = Worker(store, plan)
        worker.start()
        stop.wait()
        left = worker.stop()
        worker.join_listener()
        return left


def orchestrate(store: Store, providers: Providers | None = None) -> None:
    """Do upkeep, and send deliveries if there are providers, without running tasks, until SIGTERM or SIGINT."""
    with _stop_signals() as stop, ExitStack() as running:
        owner = this_process()
        worker = store.workers.register(owner)
        events = EventLog(worker=worker)
        relay = Relay(store, providers, events, worker) if providers else None
        running.callback(lambda: None if relay and relay.busy else _deregister(store.url, worker, events))
        upkeep = Upkeep(store, worker, owner, events, providers=providers or (), on_ready=store.wake)
        if relay is not None:
            upkeep.on_pulse = relay.on_pulse
            relay.start()
            running.callback(relay.close, limits.RELAY_GRACE_SECONDS)
        upkeep.start()
        running.callback(upkeep.close)
        stop.wait()


def _stop_signals() -> AbstractContextManager[Stop]:
    """Wait for SIGTERM or SIGINT. A second signal ends the process at once, and its leases expire."""
    return stop_on_signals(Stop(1, lambda *_: os._exit(FORCED_EXIT)))


def _deregister(url: str, worker: int, events: EventLog) -> None:
    """Note that this process holds nothing; a database that is away is not waited for."""
    with closing(open_store(url, connections=1, retry_seconds=limits.SHUTDOWN_PATIENCE_SECONDS)) as store:
        try:
            store.workers.deregister([worker])
        except LeaseholdError as error:
            events.component_failed("orchestrator", error)


def drain(store: Store, plan: WorkerPlan, timeout: float | None = None, *, wait_for_due: bool = True) -> None:
    """Work until nothing is left for these handlers; `WaitTimeout` if that takes longer than `timeout` seconds."""
    _refuse_inside_handler()
    with redacted_records():
        _drain(store, plan, timeout, wait_for_due=wait_for_due)


def _drain(store: Store, plan: WorkerPlan, timeout: float | None, *, wait_for_due: bool) -> None:
    worker = Worker(store, plan)
    worker.start()
    grace, pause = 0.0, limits.DRAIN_POLL_SECONDS
    deadline = time.monotonic() + (math.inf if timeout is None else timeout)
    try:
        while not _is_done(store, plan, worker, wait_for_due=wait_for_due):
            if time.monotonic() > deadline:
                raise WaitTimeout(f"Work was left after {number_text(timeout or 0)} seconds of draining.")
            time.sleep(pause)
            pause = min(limits.DRAIN_POLL_SECONDS_MAX, pause * 1.2)
        grace = plan.grace
    finally:
        worker.stop(grace)


def mark_isolated_process() -> None:
    """Note that this process runs one isolated handler and nothing else."""
    global _is_isolated  # noqa: PLW0603 — a fact about the process
    _is_isolated = True


@contextmanager
def loading_handler() -> Iterator[None]:
    """Refuse submits while an isolated process imports the module of its handler, which may be a whole script."""
    global _is_loading  # noqa: PLW0603 — a fact about the process
    _is_loading = True
    try:
        yield
    finally:
        _is_loading = False


def refuse_while_loading() -> None:
    """Refuse to submit from a module that is imported for an isolated handler: it would submit at every attempt."""
    if _is_loading:
        raise Misuse("An isolated handler's module is run again: submit under `if __name__ == '__main__':`.")


def _refuse_inside_handler() -> None:
    """Refuse to work from within a handler: it would wait for its own end."""
    if _is_isolated:
        raise Misuse("An isolated handler's module is run again: work and drain under `if __name__ == '__main__':`.")
    if threading.current_thread().name in ("leasehold-handler", "leasehold-loop"):
        raise Misuse("A handler cannot work or drain: it would wait for its own end.")


def _is_done(store: Store, plan: WorkerPlan, worker: Worker, *, wait_for_due: bool) -> bool:
    # First what is due, then what is left: what becomes ready in between is seen by the second look.
    now, due_at = (0, None) if wait_for_due else next_due_at(store)
    if worker.busy or (due_at is not None and due_at <= now):
        return False
    left = store.reports.remaining(sorted(plan.handlers), sorted(plan.queues))
    if left.ready or left.running or left.unsettled or (wait_for_due and left.due):
        return False
    # After the tasks: what they posted was written with their ends.
    deliveries = store.deliveries.remaining(sorted(plan.providers)) if plan.providers else (0, 0)
    return not deliveries[0 if wait_for_due else 1] and not worker.busy


def next_due_at(store: Store, providers: Sequence[str] = ()) -> tuple[int, int | None]:
    """Return the database's time, and when the next task, or delivery of these providers, is due; None: never."""
    pulse = store.workers.pulse(PulseQuery(providers=document(sorted(providers))))
    moments = [moment for moment in (pulse.due_at, pulse.delivery_due_at) if moment is not None]
    return pulse.now, min(moments, default=None)
