"""Running a worker to an end: until a signal, or until nothing is left; and an orchestrator alone."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from leasehold.errors import LeaseholdError, Misuse, WaitTimeout
from leasehold.runtime.deliver.relay import Relay
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.limits import (
    DRAIN_POLL_SECONDS,
    DRAIN_POLL_SECONDS_MAX,
    RELAY_GRACE_SECONDS,
    SHUTDOWN_PATIENCE_SECONDS,
)
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.runtime.signals import StopSignals
from leasehold.runtime.worker import Plan, Worker
from leasehold.store import Store, open_store
from leasehold.store.db.documents import document
from leasehold.store.reports import Remaining
from leasehold.store.workers import PulseQuery

_is_isolated = False


def serve(store: Store, plan: Plan) -> int:
    """Work until SIGTERM or SIGINT; return how many attempts the grace was too short for."""
    _refuse_inside_handler()
    with StopSignals() as signals:
        worker = Worker(store, plan)
        worker.start()
        signals.wait()
        left = worker.stop()
        worker.join_listener()
        return left


def orchestrate(store: Store) -> None:
    """Do upkeep alone, without running tasks, until SIGTERM or SIGINT."""
    with StopSignals() as signals:
        owner = this_process()
        worker = store.workers.register(owner)
        events = EventLog(worker=worker)
        upkeep = Upkeep(store, worker, owner, events, on_ready=store.wake)
        upkeep.start()
        signals.wait()
        upkeep.close()
        _deregister(store.url, worker, events)


def relay(store: Store, providers: Mapping[str, RegisteredProvider], grace: float = RELAY_GRACE_SECONDS) -> None:
    """Send deliveries, and do upkeep, without running tasks, until SIGTERM or SIGINT."""
    with StopSignals() as signals:
        owner = this_process()
        worker = store.workers.register(owner)
        events = EventLog(worker=worker)
        sending = Relay(store, providers, events)
        upkeep = Upkeep(
            store, worker, owner, events, providers=providers, on_ready=store.wake, on_pulse=sending.on_pulse
        )
        sending.start()
        upkeep.start()
        signals.wait()
        upkeep.close()
        sending.close(grace)
        _deregister(store.url, worker, events)


def _deregister(url: str, worker: int, events: EventLog) -> None:
    """Note that this process holds nothing; a database that is away is not waited for."""
    store = open_store(url, connections=1, retry_seconds=SHUTDOWN_PATIENCE_SECONDS)
    try:
        store.workers.deregister([worker])
    except LeaseholdError as error:
        events.component_failed("orchestrator", error)
    finally:
        store.close()


def drain(store: Store, plan: Plan, timeout: float | None = None, *, wait_for_due: bool = True) -> None:
    """Work until nothing is left for these handlers; `WaitTimeout` if that takes longer than `timeout` seconds."""
    _refuse_inside_handler()
    worker = Worker(store, plan)
    worker.start()
    grace = 0.0
    try:
        _await(lambda: _is_done(store, plan, worker, wait_for_due=wait_for_due), timeout)
        grace = plan.grace
    finally:
        worker.stop(grace)


def mark_isolated_process() -> None:
    """Note that this process runs one isolated handler and nothing else."""
    global _is_isolated  # noqa: PLW0603 — a fact about the process
    _is_isolated = True


def _refuse_inside_handler() -> None:
    """Refuse to work from within a handler: it would wait for its own end."""
    if _is_isolated:
        raise Misuse("An isolated handler's module is run again: work and drain under `if __name__ == '__main__':`.")
    if threading.current_thread().name in ("leasehold-handler", "leasehold-loop"):
        raise Misuse("A handler cannot work or drain: it would wait for its own end.")


def _await(done: Callable[[], bool], timeout: float | None) -> None:
    started = time.monotonic()
    pause = DRAIN_POLL_SECONDS
    quiet = threading.Event()
    while not done():
        if timeout is not None and time.monotonic() - started > timeout:
            raise WaitTimeout(f"Work was left after {timeout:g} seconds of draining.")
        quiet.wait(pause)
        pause = min(DRAIN_POLL_SECONDS_MAX, pause * 1.2)


def _is_done(store: Store, plan: Plan, worker: Worker, *, wait_for_due: bool) -> bool:
    # First what is due, then what is left: what becomes ready in between is seen by the second look.
    if worker.busy or (not wait_for_due and _is_due(store)):
        return False
    left: Remaining = store.reports.remaining(sorted(plan.handlers), sorted(plan.queues))
    due = left.due if wait_for_due else 0
    if left.ready or left.running or left.unsettled or due:
        return False
    # After the tasks: what they posted was written with their ends.
    return not _deliveries_left(store, plan, wait_for_due=wait_for_due) and not worker.busy


def _deliveries_left(store: Store, plan: Plan, *, wait_for_due: bool) -> int:
    if not plan.providers:
        return 0
    left, due = store.deliveries.remaining(sorted(plan.providers))
    return left if wait_for_due else due


def _is_due(store: Store) -> bool:
    now, due_at = next_due_at(store)
    return due_at is not None and due_at <= now


def next_due_at(store: Store, providers: Sequence[str] = ()) -> tuple[int, int | None]:
    """Return the database's time, and when the next task, or delivery of these providers, is due; None: never."""
    served = document(sorted(providers))
    pulse = store.workers.pulse(
        PulseQuery(0, "[]", "[]", wants_work=False, since=0, boot="", namespace="", providers=served)
    )
    moments = [moment for moment in (pulse.due_at, pulse.delivery_due_at) if moment is not None]
    return pulse.now, min(moments, default=None)
