"""The claimer: claims as many tasks as the worker has free places, in one statement, and sleeps if there are none.

It remembers how far it has read each queue (`Hints`), and reads from the start again about once a second, for rows that
committed late. Queues take turns at being first, so none starves another. A wake-up or upkeep's pulse wakes it; it
does not poll while it is idle. It claims only while there is a connection for committer and heartbeat.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from leasehold import clock
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lanes import Hints, suspect_lanes
from leasehold.model.lease import Lease
from leasehold.model.limits import BRANCHES_LOOK_MAX, CLAIM_MAX
from leasehold.model.names import base_of, family_of
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.rescans import Rescans
from leasehold.runtime.claim.suspects import Suspects
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.handlers import Handler
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store
from leasehold.store.db.documents import document
from leasehold.store.leases import Claimed


class Branches:
    """The branches that have ready tasks, and which of them need not be asked for a while.

    They come and go with what is submitted, so they are listed about once a second, and only while there are any. One
    whose slots are all taken is asked again when a slot becomes free, which is known at once for this worker's own.
    `changes` counts slots that became free, for a claim that is under way.
    """

    def __init__(self, store: Store, queues: Sequence[str]) -> None:
        self._store = store
        self._served = frozenset(queues)
        self._known: list[str] = []
        self._paused: dict[str, int | None] = {}
        self._listed_at: int | None = None
        self._after = ""
        self.exist = False
        self.changes = 0

    def active(self) -> list[str]:
        """Return the branches to claim from now, in the order of whose turn it is."""
        if not self.exist:
            return []
        now = clock.uptime()
        if self._listed_at is None or now - self._listed_at >= limits.BRANCH_LIST_US:
            self._list(now)
        untils = ((branch, self._paused.get(branch, 0)) for branch in self._known)
        return [branch for branch, until in untils if until is not None and until <= now]

    def pause(self, branch: str, until: int | None = None) -> None:
        """Leave a branch alone until that time, or until one of its slots becomes free."""
        self._paused[branch] = until

    def resume(self, queues: Iterable[str]) -> None:
        """Ask these again: a slot became free."""
        self.changes += 1
        for queue in queues:
            self._paused.pop(queue, None)

    def next_due_in(self, now: int) -> int | None:
        """Return in how many microseconds the next one shall be asked, 0 if that is now; None if none has a time."""
        due = {queue: until for queue, until in list(self._paused.items()) if until is not None}
        over = [queue for queue, until in due.items() if until <= now]
        for queue in over:
            self._paused.pop(queue, None)
        if over:
            return 0
        return min(due.values()) - now if due else None

    def forget(self) -> None:
        """List them again at the next call."""
        self._listed_at = None

    def rotate(self) -> None:
        self._known = self._known[1:] + self._known[:1]

    def _list(self, now: int) -> None:
        """List branches; where there are more than fit, those after the last ones come next time."""
        found = self._store.queues.branches(self._after)
        self._after = found[-1] if len(found) == BRANCHES_LOOK_MAX else ""
        self._known = [branch for branch in found if base_of(branch) in self._served]
        for branch, until in list(self._paused.items()):
            if until is None or until <= now:
                self._paused.pop(branch, None)
        self._listed_at = now


class Claimer:
    """Claims for one worker."""

    def __init__(  # noqa: PLR0913 — its parts are handed in by name
        self,
        store: Store,
        worker: int,
        handlers: Mapping[str, Handler],
        queues: Sequence[str],
        held: HeldAttempts,
        committer: Committer,
        events: EventLog,
        on_claimed: Callable[[list[Attempt]], None],
        *,
        reserve: Callable[[], None] = lambda: None,
        on_more: Callable[[set[str], int], None] = lambda _, __: None,
    ) -> None:
        """`reserve` raises unless there is a connection for what is written under a lease.

        `on_more` gets the queues that may have more than there was room for, after a claim of so many.
        """
        self._store = store
        self._worker = worker
        self._handlers = handlers
        self._queues = list(queues)
        self._held = held
        self._committer = committer
        self._events = events
        self._on_claimed = on_claimed
        self._reserve = reserve
        self._on_more = on_more
        self._filled: set[str] = set()
        self._routes = document(sorted(handlers))
        self._hints = Hints()
        self._rescans = Rescans()
        self._asked = 0
        self._claim_seconds = 0.0  # of the last claim: the longer, the more free places are worth waiting for
        self._limited: frozenset[str] = frozenset()
        self._branches = Branches(store, queues)
        self.suspects = Suspects(handlers, self.wake)
        self._awake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leasehold-claimer", daemon=True)

    def start(self) -> None:
        self._awake.set()
        self._thread.start()

    def wake(self) -> None:
        """Look for tasks: there may be some."""
        self._awake.set()

    def on_returned(self) -> None:
        """Look for tasks from the first row on: some may have returned to a place behind the hints."""
        self._rescans.request()
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether the last claim found nothing and there is a free place."""
        return not self._awake.is_set() and self._held.capacity.free() > 0

    def set_limits(self, limited: frozenset[str], *, branched: bool = False) -> None:
        """Set which queues are limited, so that a claim from them needs a slot, and whether any has branches."""
        self._limited = limited
        self._branches.exist = branched
        self._held.capacity.notify_on_free(limited, self._on_free)

    def _on_free(self, queues: Iterable[str]) -> None:
        self._branches.resume(queues)
        self.wake()

    def on_suspects(self, ready: Collection[tuple[str, int]]) -> None:
        """Note which routes have suspects that are ready, with their losses."""
        if self.suspects.on_pulse(ready):
            self.wake()

    def on_branch_ready(self) -> None:
        self._branches.exist = True
        self._branches.forget()
        self.wake()

    def close(self) -> None:
        """Claim no more; a claim under way is finished first, unless the database is away."""
        self._stopped.set()
        self._awake.set()
        self._held.capacity.close()
        if self._thread.is_alive():
            self._thread.join(timeout=limits.CLAIMER_SHUTDOWN_SECONDS)
            self._store.close()
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._awake.wait(self._seconds_to_wait())
            self._awake.clear()
            try:
                self._claim_until_empty()
                self._events.component_answered("claimer")
            except Exception as error:  # noqa: BLE001 — a worker that claims no more would look healthy
                self._events.component_failed("claimer", error)
                self._stopped.wait(limits.CLAIM_RETRY_SECONDS)
                self._awake.set()

    def _seconds_to_wait(self) -> float | None:
        now = clock.uptime()
        waits = [part.next_due_in(now) for part in (self._branches, self._rescans)]
        return min((wait_us / clock.SECOND for wait_us in waits if wait_us is not None), default=None)

    def _claim_until_empty(self) -> None:
        more = False
        while not self._stopped.is_set():
            if not self._await_capacity(more=more):
                return
            self._reserve()
            began = clock.uptime()
            if (quiet := self.suspects.quiet_seconds(began)) > 0:
                self._held.capacity.await_free(self._held.capacity.concurrency, quiet)
            suspects = self.claim_suspects()
            found = self.claim(min(self._held.capacity.free(), CLAIM_MAX))
            if suspects + found == 0:
                return
            self._claim_seconds = (clock.uptime() - began) / clock.SECOND
            if self._filled and not more:
                self._on_more(self._filled, found)
            more = found >= self._asked
            self._queues.append(self._queues.pop(0))
            self._branches.rotate()
            if not (more or self._filled or suspects):
                return  # what came after the statement has a wake-up of its own

    def _await_capacity(self, *, more: bool) -> bool:
        """Wait for a free place; if more tasks are ready, a moment longer for a worthwhile number of places."""
        while self._committer.backlog() > limits.BACKLOG_MAX and not self._stopped.is_set():
            self._stopped.wait(limits.GATHER_SECONDS)
        if more:
            worthwhile = max(1, min(CLAIM_MAX, self._held.capacity.concurrency // 2))
            seconds = min(max(limits.GATHER_SECONDS, self._claim_seconds), limits.GATHER_SECONDS_MAX)
            self._held.capacity.await_free(worthwhile, seconds)
        while self._held.capacity.free() <= 0 and not self._stopped.is_set():
            self._held.capacity.await_free(1, limits.CLAIM_RETRY_SECONDS)
        return not self._stopped.is_set()

    def claim(self, most: int) -> int:
        """Claim up to `most` tasks once and start them; more if places became free while the statement waited."""
        count, asked = 0, 0
        self._filled = set()
        began = clock.uptime()
        if rescans := self._rescans.begin(began):
            self._hints.forget()
        for queues in self._claim_groups():
            free = min(most - count, self._free_in(queues))
            if free > 0:
                claimed = self._claim_from(queues, free)
                count += len(claimed.leases)
                asked += claimed.requested
                if len(claimed.leases) >= claimed.requested:
                    self._filled.update(lease.queue for lease in claimed.leases)
        if rescans:
            self._rescans.end(began, clock.uptime())
        self._asked = max(asked, most)
        return count

    def _free_in(self, queues: list[str]) -> int:
        return min(CLAIM_MAX, *(self._held.capacity.free_in(queue) for queue in queues))

    def _claim_groups(self) -> list[list[str]]:
        """Group the queues that one statement can claim from, in the order of whose turn it is.

        A limited or capped queue is a group of its own; all others are one group, at the place of the first of them.
        """
        together: list[str] = []
        groups: list[list[str]] = []
        for queue in (*self._queues, *self._branches.active()):
            if self._is_limited(queue) or self._held.capacity.is_capped(queue):
                groups.append([queue])
            else:
                if not together:
                    groups.append(together)
                together.append(queue)
        return groups

    def _is_limited(self, queue: str) -> bool:
        return queue in self._limited or family_of(queue) in self._limited

    def claim_suspects(self) -> int:
        """Claim a few suspects that run isolated, or one that runs alone in an idle worker; return how many."""
        count = 0
        if self.suspects.has(isolated=True) and (most := self.suspects.at_once() - self._held.suspects()) > 0:
            count = self._claim_each_group(most, isolated=True)
        if self.suspects.has(isolated=False) and self._held.is_empty:
            self.suspects.on_alone()
            count += self._claim_each_group(1, isolated=False)
        return count

    def _claim_each_group(self, most: int, *, isolated: bool) -> int:
        count = 0
        for queues in self._claim_groups():
            count += self._claim_some(queues, min(most - count, self._free_in(queues)), isolated=isolated)
        if count == 0:
            self.suspects.forget(isolated=isolated)
        return count

    def _claim_some(self, queues: list[str], most: int, *, isolated: bool) -> int:
        """Claim suspects from these queues, the last that was lost first."""
        asked_at, routes = clock.uptime(), self.suspects.routes(isolated=isolated)
        if most <= 0:
            return 0
        lanes = suspect_lanes(queues, self.suspects.losses_max())
        if self._is_limited(queues[0]):
            claimed = self._store.leases.claim_limited(self._worker, queues[0], routes, most, lanes[0])
        else:
            claimed = self._store.leases.claim(self._worker, lanes, routes, most)
        self._take_up(claimed, asked_at, alone=not isolated)
        return len(claimed.leases)

    def _claim_from(self, queues: list[str], most: int) -> Claimed:
        asked_at = clock.uptime()
        free = partial(self._free_in, queues)
        if self._is_limited(queues[0]):
            changes = self._branches.changes
            claimed = self._store.leases.claim_limited(self._worker, queues[0], self._routes, most, free=free)
            if len(claimed.leases) < claimed.requested:
                self._pause_queue(queues[0], claimed.wait_us, changes)
        else:
            claimed = self._store.leases.claim(self._worker, self._hints.lanes(queues), self._routes, most, free)
            self._hints.claimed(claimed.leases)
        self._take_up(claimed, asked_at)
        return claimed

    def _take_up(self, claimed: Claimed, asked_at: int, *, alone: bool = False) -> None:
        # crash here: leased but not started
        # The lease runs out, or its owner is found gone; another worker takes the task.
        self._start_attempts(claimed.leases, asked_at, alone=alone)
        if claimed.in_doubt:
            self._release_unknown_leases()

    def _pause_queue(self, queue: str, wait_us: int | None, changes: int) -> None:
        """Ask again when its rate allows a start; a branch without free slots, when one becomes free."""
        if wait_us is not None:
            self._branches.pause(queue, until=clock.uptime() + wait_us)
        elif changes == self._branches.changes:  # else a slot may have become free while it was asked
            self._branches.pause(queue)

    def _start_attempts(self, leases: list[Lease], asked_at: int, *, alone: bool = False) -> None:
        if leases:
            attempts = [Attempt(lease, self._handlers[lease.route], asked_at) for lease in leases]
            for attempt in attempts:
                if attempt.lease.losses and not alone:
                    attempt.isolated = attempt.isolated or attempt.lease.is_suspect
            self._held.add(attempts, alone=alone)
            try:
                self._on_claimed(attempts)
            except BaseException:  # what could not be started is released, so that another worker can claim it
                unstarted = [attempt for attempt in attempts if attempt.release()]
                for attempt in unstarted:
                    self._held.drop(attempt)
                    self._held.free_slot(attempt)
                released = [attempt.lease for attempt in unstarted]
                self._store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "released") for lease in released])
                raise

    def _release_unknown_leases(self) -> None:
        """Release the leases of a claim whose answer was lost: this worker does not know them."""
        unknown = self._held.unknown_of(self._store.leases.held_by(self._worker))
        if unknown:
            self._store.leases.reclaim([Reclaim(*lease, "released") for lease in unknown])
            self._events.leases_reclaimed(len(unknown), "claimed without an answer")
