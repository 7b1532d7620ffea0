"""What happens while children run: leases are renewed, and each second is paid for when it begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from leasehold import LeaseholdError, Unavailable
from leasehold.pipelines.agents.child_workflow import ActiveChild
from leasehold.pipelines.agents.coordinator.engine_jobs import SessionLease
from leasehold.pipelines.agents.limits import LEASE_MARGIN_SECONDS, LEASE_SECONDS, RENEW_SECONDS


class Watch:
    """Two threads. When the session's lease is lost, or could not be renewed in time, `on_lost` is called once."""

    def __init__(
        self, lease: SessionLease, active: Callable[[], Iterable[ActiveChild]], on_lost: Callable[[], None]
    ) -> None:
        self._lease = lease
        self._active = active
        self._on_lost = on_lost
        self._stopped = threading.Event()
        self._changed = threading.Event()
        self._due = threading.Event()
        self._threads = [
            threading.Thread(target=self._renew, name="agents-renew", daemon=True),
            threading.Thread(target=self._pay, name="agents-seconds", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopped.set()
        self._changed.set()
        self._due.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def wake(self) -> None:
        """Note that a child has started: its next second is due before the next look."""
        self._changed.set()

    def renew(self) -> None:
        """Renew all leases now."""
        self._due.set()

    def _renew(self) -> None:
        renewed_at = time.monotonic()
        while not self._stopped.is_set():
            self._due.wait(RENEW_SECONDS)
            self._due.clear()
            began = time.monotonic()
            try:
                is_held = self._renew_all()
            except Unavailable:
                is_held = began - renewed_at < LEASE_SECONDS - LEASE_MARGIN_SECONDS
            else:
                renewed_at = began
            if not is_held:
                self._on_lost()
                return

    def _renew_all(self) -> bool:
        """Renew the session's lease and those of its children; False if the session's no longer stands."""
        if not self._lease.held.renew(LEASE_SECONDS):
            return False
        for child in self._active():
            if not child.held.renew(LEASE_SECONDS):
                child.lose()
        return True

    def _pay(self) -> None:
        while not self._stopped.is_set():
            self._changed.clear()
            now = time.monotonic()
            for child in self._active():
                self._pay_for(child, now)
            due = [at for child in self._active() if (at := child.next_second_at) is not None]
            self._changed.wait(max(0.0, min(due) - time.monotonic()) if due else None)

    def _pay_for(self, child: ActiveChild, now: float) -> None:
        due = child.next_second_at
        if due is None or now < due:
            return
        try:
            is_paid = child.pay_second()
        except Unavailable:
            self._stopped.wait(1.0)  # the second stays due
        except LeaseholdError:
            child.lose()
        else:
            child.next_second_at = due + 1.0 if is_paid and child.next_second_at is not None else None
