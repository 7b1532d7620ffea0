"""The relay: claims due deliveries and sends them, each on a thread of its own.

It claims by state, only for providers registered in this process, and no more than it sends at once. That they are
being sent is written for all of them together before the first is: what was only claimed is not in doubt. It renews
its claims, so that another relay claims a row only when this one is gone. A relay that could not keep a claim does
not begin to send. It asks the database nothing until a pulse shows that something is due.
"""

import threading
import time
from collections.abc import Callable
from functools import partial

from leasehold import clock
from leasehold.model.outbox import ClaimedDelivery, DeliveryStatus
from leasehold.runtime import limits
from leasehold.runtime.deliver.sender import DeliverySender, Providers
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.store.workers import Pulse


class HeldDelivery:
    """A delivery that this process sends. `deadline` is in uptime microseconds; 0: the claim no longer stands."""

    def __init__(self, taken: ClaimedDelivery, asked_at: int) -> None:
        self.taken = taken
        self.extend(asked_at)

    def extend(self, asked_at: int) -> None:
        """Count the claim from the moment it was asked for, which is before the database granted it."""
        self.deadline = asked_at + clock.microseconds(limits.DELIVERY_LEASE_SECONDS - limits.DELIVERY_MARGIN_SECONDS)

    def is_held(self) -> bool:
        """Whether nobody else can have taken it yet."""
        return clock.uptime() < self.deadline


Send = Callable[[], None]


def run_on_thread(_: HeldDelivery, send: Send) -> None:
    threading.Thread(target=send, name="leasehold-sender", daemon=True).start()


class Relay:
    """Keeps deliveries moving. `start`, `on_pulse` for every pulse, `close`. `launch` sends one delivery.

    `worker` is the number under which this process is registered: who finds it gone gives back what it had claimed.
    """

    def __init__(
        self,
        store: Store,
        providers: Providers,
        events: EventLog,
        worker: int,
        *,
        launch: Callable[[HeldDelivery, Send], None] = run_on_thread,
    ) -> None:
        self._store = store
        self.worker = worker
        self._launch = launch
        self._names = sorted(providers)
        self._sender = DeliverySender(store, providers, events)
        self._events = events
        self._held: dict[int, HeldDelivery] = {}
        self._changed = threading.Condition()
        self._due = threading.Event()
        self._stopped = threading.Event()
        self._claims = True
        self._has_suspects = False
        self._is_behind = False
        self._is_taking = False
        self._turn = 0
        self._thread = threading.Thread(target=self._run, name="leasehold-relay", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._events.relay_started(self._names)

    def on_pulse(self, pulse: Pulse) -> None:
        """Act on a pulse: something is due, or something is marked without evidence."""
        self._has_suspects = self._has_suspects or pulse.deliveries_inconsistent
        if self._has_suspects or (pulse.delivery_due_at is not None and pulse.delivery_due_at <= pulse.now):
            self._due.set()

    @property
    def busy(self) -> int:
        return self._is_taking + len(self._held)

    def stop_claiming(self) -> None:
        """Claim no more; what is being sent goes on, and its claims are renewed."""
        self._claims = False

    def close(self, grace: float) -> None:
        """Claim no more, and let what is being sent end within `grace` seconds; others look up the rest."""
        over = time.monotonic() + grace
        self.stop_claiming()
        self._stopped.set()
        self._due.set()
        if self._thread.is_alive():
            self._thread.join(timeout=limits.RELAY_SHUTDOWN_SECONDS)
        while self._held and (left := over - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: not self._held, timeout=min(left, limits.DELIVERY_RENEW_SECONDS))
            self._renew()
        if self._held:
            self._events.deliveries_unfinished(len(self._held))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._due.wait(limits.DELIVERY_RENEW_SECONDS)
            self.poll_once()

    def poll_once(self) -> None:
        """Make one pass: renew what is being sent, and claim more if something is due."""
        is_due = self._due.is_set()
        if is_due:  # else a pulse at this very moment would be lost
            self._due.clear()
        self._renew()
        try:
            if is_due and self._claims:
                self._is_taking = True  # until what was taken is held
                self._report_suspects()
                self._claim()
        except Exception as error:  # noqa: BLE001 — the relay must outlive any one pass; the next pulse repeats it
            self._events.component_failed("relay", error)
        finally:
            self._is_taking = False

    def _report_suspects(self) -> None:
        if self._has_suspects:
            self._has_suspects = False
            for row in self._store.deliveries.suspect(self._names):
                self._events.delivery_suspect(row)

    def _renew(self) -> None:
        """Renew the claims that are running out; a delivery whose claim is gone is not begun any more."""
        if not self._held:
            return
        asked_at = clock.uptime()
        soon = asked_at + clock.microseconds(limits.DELIVERY_RENEW_SECONDS + limits.DELIVERY_MARGIN_SECONDS)
        with self._changed:
            held = [one for one in self._held.values() if one.deadline < soon]
        if not held:
            return
        try:
            standing = self._store.deliveries.renew([one.taken for one in held], limits.DELIVERY_LEASE_SECONDS)
        except Exception as error:  # noqa: BLE001 — what could not be kept is not begun
            self._events.component_failed("relay", error)
            return
        for one in held:
            if (one.taken.id, one.taken.fence) in standing:
                one.extend(asked_at)
            else:
                one.deadline = 0

    def _claim(self) -> None:
        """Fill the free places, the providers by turns, so that a slow one does not keep the others waiting."""
        self._turn += 1
        self._is_behind = False
        for number in range(len(self._names)):
            free = limits.DELIVERY_CONCURRENCY - len(self._held)
            if free <= 0:
                self._is_behind = True
                return
            asked_at = clock.uptime()
            name = self._names[(self._turn + number) % len(self._names)]
            found = self._store.deliveries.claim(name, limits.DELIVERY_LEASE_SECONDS, free, worker=self.worker)
            self._is_behind = self._is_behind or len(found) == free
            # crash here: claimed but not begun
            # Nobody has sent it: it is given back as it was, and sent without a look-up.
            begun = self._store.deliveries.begin([one for one in found if not one.may_be_sent], self.worker)
            for taken in [one for one in found if one.may_be_sent] + begun:
                self._start(HeldDelivery(taken, asked_at))

    def _start(self, held: HeldDelivery) -> None:
        with self._changed:
            self._held[held.taken.id] = held
        try:
            self._launch(held, partial(self._send, held))
        except RuntimeError as error:  # no thread to be had; the claim runs out
            self._end(held)
            self._events.component_failed("relay", error)

    def _send(self, held: HeldDelivery) -> None:
        try:
            self._sender.send(held.taken, held.is_held)
        except Exception as error:  # noqa: BLE001 — not marked: the claim runs out, and it is looked up
            self._events.component_failed("sender", error)
        finally:
            self._end(held)

    def _end(self, held: HeldDelivery) -> None:
        with self._changed:
            self._held.pop(held.taken.id, None)
            self._changed.notify_all()
        if self._is_behind:
            self._due.set()


def reconcile_now(
    store: Store, providers: Providers, events: EventLog, principal: str, delivery_id: int | None = None
) -> list[int]:
    """Look up what is in doubt, reconciling or marked without evidence, once and here; return which.

    With `delivery_id` that one alone is touched.
    """
    names = sorted(providers)
    sender = DeliverySender(store, providers, events)
    for row in store.deliveries.suspect(names, delivery_id):
        events.delivery_suspect(row)
    asked = store.deliveries.reconcile(names, principal, delivery_id)
    for name in sorted({row.provider for row in asked}):
        while found := store.deliveries.claim(
            name, limits.DELIVERY_LEASE_SECONDS, 1, only=DeliveryStatus.RECONCILING, delivery_id=delivery_id
        ):
            held = HeldDelivery(found[0], clock.uptime())
            sender.send(held.taken, held.is_held)
    return [row.id for row in asked]
