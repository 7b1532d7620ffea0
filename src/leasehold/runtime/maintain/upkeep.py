"""Upkeep: one thread that polls the pulse about once a second and acts on it, as orchestrator and as sweeper.

A quiet worker makes this one statement a second and no other, except for a sign of life twice a minute. `poll_now`
(a stage ended here, a wake-up came in) makes it poll at once.
"""

import random
import threading
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import structs

from leasehold import clock
from leasehold.model.owner import Owner
from leasehold.runtime.claim import pending_file
from leasehold.runtime.limits import PULSE_SECONDS, PULSE_SECONDS_MIN, SEEN_SECONDS, UPKEEP_SHUTDOWN_SECONDS
from leasehold.runtime.maintain.cleaner import Cleaner
from leasehold.runtime.maintain.clearing import Clearing
from leasehold.runtime.maintain.orchestrator import Orchestrator
from leasehold.runtime.maintain.sweeper import Sweeper
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.store.db.documents import document
from leasehold.store.workers import Pulse, PulseQuery


class Upkeep:
    """Keeps work moving. `on_pulse` gets every answer; `on_ready` the queues that got work."""

    def __init__(  # noqa: PLR0913 — its parts are handed in by name
        self,
        store: Store,
        worker: int,
        owner: Owner,
        events: EventLog,
        *,
        queues: Iterable[str] = (),
        routes: Iterable[str] = (),
        providers: Iterable[str] = (),
        on_pulse: Callable[[Pulse], None] = lambda _: None,
        on_ready: Callable[[set[str]], None] = lambda _: None,
        on_returned: Callable[[], None] = lambda: None,
        wants_work: Callable[[], bool] = lambda: False,
        read_pending: pending_file.Read = pending_file.read,
    ) -> None:
        self._store = store
        self._events = events
        served, routed, carried = (document(sorted(names)) for names in (queues, routes, providers))
        self._query = PulseQuery(worker, served, routed, carried, boot=owner.boot, namespace=owner.namespace)
        self.on_pulse = on_pulse
        self._on_ready = on_ready
        self._on_returned = on_returned
        self._wants_work = wants_work
        self._orchestrator = Orchestrator(store)
        self._clearing = Clearing(store, events)
        self._sweeper = Sweeper(store, events, read_pending)
        self._seen_at = clock.uptime()  # it has just been registered
        self._cleaner = Cleaner(store)
        self._poll_requested = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leasehold-upkeep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def poll_now(self) -> None:
        self._poll_requested.set()

    def close(self, seconds: float = UPKEEP_SHUTDOWN_SECONDS) -> None:
        """Stop after the pass under way; one that waits for the database is not waited for longer than this."""
        self._stopped.set()
        self._poll_requested.set()
        if self._thread.is_alive():
            self._thread.join(timeout=min(seconds, UPKEEP_SHUTDOWN_SECONDS))

    def _run(self) -> None:
        pause = 0.0
        while not self._stopped.is_set():
            self._poll_requested.wait(pause)
            self._poll_requested.clear()
            try:
                pause = self.poll_once()
                self._events.component_answered("upkeep")
            except Exception as error:  # noqa: BLE001 — upkeep must outlive any one pass
                self._events.component_failed("upkeep", error)
                pause = PULSE_SECONDS

    def poll_once(self) -> float:
        """Poll once and act on the answer; return how long to wait before the next poll."""
        query = structs.replace(self._query, wants_work=self._wants_work(), since=self._sweeper.since)
        pulse = self._store.workers.pulse(query)
        clear = partial(self._clearing.clear, pulse, self._sweeper.reclaimed)
        queues = self._try(partial(self._sweep, clear))  # before suspects are claimed
        self.on_pulse(pulse)
        queues |= self._act(pulse)
        self._sweeper.swept(pulse.now)
        if queues:
            self._on_ready(queues)
        due = [] if pulse.due_at is None else [pulse.due_at]
        if pulse.deadline_at is not None:
            due.append(pulse.deadline_at)
        if pulse.delivery_due_at is not None and pulse.delivery_due_at > pulse.now:  # what is due now is on its way
            due.append(pulse.delivery_due_at)
        waits = (max(PULSE_SECONDS_MIN, (moment - pulse.now) / clock.SECOND) for moment in due)
        return min([PULSE_SECONDS * random.uniform(0.8, 1.1), *waits])

    def _act(self, pulse: Pulse) -> set[str]:
        steps: list[Callable[[], set[str]]] = [
            partial(self._sweep, partial(self._sweeper.sweep_gone, pulse.neighbours))
        ]
        if pulse.expired:
            steps.append(partial(self._sweep, self._sweeper.sweep_expired))
        if pulse.due_at is not None and pulse.due_at <= pulse.now:
            steps.append(self._orchestrator.make_due)
        if pulse.deadline_at is not None and pulse.deadline_at <= pulse.now:
            steps.append(self._orchestrator.end_late)
        if pulse.unsettled:
            steps.append(self._orchestrator.advance)
        if clock.uptime() - self._seen_at >= SEEN_SECONDS * clock.SECOND:
            steps.append(self._note_seen)
        steps.append(partial(self._cleaner.clean, pulse.now))
        queues: set[str] = set()
        for step in steps:
            queues |= self._try(step)
        return queues

    def _sweep(self, step: Callable[[], set[str]]) -> set[str]:
        """Take leases or losses back; their tasks return to their places, which the claimer may have passed."""
        if queues := step():
            self._on_returned()
        return queues

    def _try(self, step: Callable[[], set[str]]) -> set[str]:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 — its trouble must not keep the others from being done
            self._events.component_failed("upkeep", error)
            return set()

    def _note_seen(self) -> set[str]:
        self._store.workers.seen(self._query.worker)
        self._seen_at = clock.uptime()
        return set()
