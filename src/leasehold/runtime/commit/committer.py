"""The committer: one thread with its own connection that writes what attempts report.

What gathers while it writes is the next batch. Each item has its own answer; one that is refused fails alone.
"""

import threading
from collections import deque
from collections.abc import Callable

from leasehold.batching import BatchThread, answer_all
from leasehold.errors import DatabaseUnavailable, LeaseholdError, LeaseLost, Unavailable
from leasehold.model import lease as endings
from leasehold.model.effect import Entry
from leasehold.model.failure.failure import MESSAGE_STANDS, classify
from leasehold.model.lease import Progress, Settled, Settlement
from leasehold.model.limits import GROUP_BYTES_MAX, GROUP_MAX
from leasehold.model.tree.link import wake_hints_in
from leasehold.runtime import limits
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.requests import AnyReply, CommitBatch, CommitRequest, Item
from leasehold.runtime.observe.events import EventLog
from leasehold.store import Store

Ends = list[tuple[Attempt, Settlement]]


class Committer:
    """Writes settlements, effects and progress, in batches."""

    def __init__(self, store: Store, held: HeldAttempts, events: EventLog, on_upkeep_due: Callable[[], None]) -> None:
        self._store = store
        self._held = held
        self._events = events
        self._on_upkeep_due = on_upkeep_due
        self._ends: deque[tuple[Attempt, Settlement]] = deque()
        self._requests: deque[CommitRequest] = deque()
        self._progress: dict[tuple[int, int], Progress] = {}
        self._lock = threading.Lock()
        self._thread = BatchThread("leasehold-committer", self.has_work, self.write, limits.THREAD_REST_SECONDS)

    def start(self) -> None:
        self._thread.start()

    def settle(self, attempt: Attempt, settlement: Settlement) -> None:
        self._ends.append((attempt, settlement))
        self._thread.wake()

    def commit(self, attempt: Attempt, item: Item, reply: AnyReply) -> None:
        """Hand over what an attempt has committed; the reply is answered once it is committed or refused."""
        self._requests.append(CommitRequest(attempt, item, reply))
        self._thread.wake()

    def report_progress(self, progress: Progress) -> None:
        """Hand over progress; a newer report of the same attempt replaces it."""
        with self._lock:
            self._progress[progress.task_id, progress.fence] = progress
        self._thread.wake()

    def backlog(self) -> int:
        return len(self._ends)

    def close(self, seconds: float) -> None:
        self._thread.close(seconds)

    def write(self) -> None:
        """Write what has gathered, once; errors are logged, not raised."""
        try:
            batch = CommitBatch(self._requests)
            if batch.requests and self._ends and self._store.database.dialect.single_writer:
                self._write_both(batch, self._gather_ends())
            else:
                self._write_requests(batch)
                self._write_ends(self._gather_ends())
            self._write_progress()
        except Exception as error:  # noqa: BLE001 — the thread must outlive any one batch
            self._events.component_failed("committer", error)

    def has_work(self) -> bool:
        return bool(self._ends or self._requests or self._progress)

    def _write_both(self, batch: CommitBatch, ends: Ends) -> None:
        """Write entries and ends in one transaction; if it is refused, each alone shows whose fault it is."""

        def work() -> tuple[list[Entry], list[Settled]]:
            batch.gather()
            if len(ends) < GROUP_MAX:
                ends.extend(self._gather_ends())
            return self._store.effects.enter(*batch.items), self._store.leases.settle([end for _, end in ends])

        try:
            entries, landed = self._store.database.in_one_transaction(work)
        except Unavailable as error:
            answer_all((request.reply, error) for request in batch.requests)
            self._give_up(ends, error)
        except Exception:  # noqa: BLE001 — they deal with whatever it is
            self._write_requests(batch)
            self._write_ends(ends)
        else:
            try:
                self._answer(ends, landed)
            finally:
                self._answer_requests(batch, entries)

    def _write_requests(self, batch: CommitBatch) -> None:
        if not (requests := batch.requests):
            return
        try:
            entries = self._store.effects.enter(*batch.items, batch.gather)
        except LeaseholdError as error:
            if isinstance(error, Unavailable) or len(requests) == 1:
                answer_all((request.reply, error) for request in requests)
                return
            for request in requests:
                self._write_requests(CommitBatch(deque([request])))
        except Exception as error:  # noqa: BLE001 — the callers must not wait for ever
            self._events.component_failed("committer", error)
            away = DatabaseUnavailable(f"{type(error).__name__}: {error}.")
            answer_all((request.reply, away) for request in requests)
        else:
            self._answer_requests(batch, entries)

    def _answer_requests(self, batch: CommitBatch, entries: list[Entry]) -> None:
        if batch.links:
            self._store.wake(wake_hints_in(entries))
        found = {(entry.task_id, entry.fence, entry.key): entry for entry in entries}
        answer_all([(request.reply, found.get(request.identity) or self._lost(request)) for request in batch.requests])

    def _lost(self, request: CommitRequest) -> LeaseLost:
        if request.attempt.lose():
            self._events.lease_lost(request.attempt.lease, "found while doing an effect")
        return LeaseLost()

    def _gather_ends(self) -> Ends:
        batch: Ends = []
        size = 0
        while self._ends and len(batch) < GROUP_MAX and size < GROUP_BYTES_MAX:
            attempt, settlement = self._ends.popleft()
            batch.append((attempt, settlement))
            size += settlement.size
        batch.sort(key=lambda end: end[1].task_id)
        return batch

    def _write_ends(self, batch: Ends) -> None:
        if not batch:
            return
        # crash here: ended but not written
        # The result is gone; the next attempt makes it again.
        try:
            landed = self._store.leases.settle([settlement for _, settlement in batch])
        except Unavailable as error:
            self._give_up(batch, error)
        except LeaseholdError as error:
            self._write_each(batch, error)
        except Exception as error:  # noqa: BLE001 — these leases must not be renewed for ever
            self._events.component_failed("committer", error)
            self._give_up(batch, DatabaseUnavailable(f"{type(error).__name__}: {error}."))
        else:
            # crash here: written but not answered
            # The task is settled, and nobody here needs to know.
            self._answer(batch, landed)

    def _answer(self, batch: Ends, landed: list[Settled]) -> None:
        self._held.drop_all(attempt for attempt, _ in batch)
        if len(landed) < len(batch):
            known = {(one.task_id, one.fence) for one in landed}
            for attempt, settlement in batch:
                if (settlement.task_id, settlement.fence) not in known and attempt.lose():
                    self._held.drop(attempt)
                    self._events.lease_lost(attempt.lease, "settled too late")
            self._on_upkeep_due()  # a lease that was reclaimed may have left work for upkeep
        if any(one.status != "DONE" for one in landed):
            self._report_failed(batch, landed)
        has_next = any(one.has_dependents or one.status == "RETRY" for one in landed)
        if has_next or any(end.deliveries for _, end in batch):
            self._on_upkeep_due()

    def _report_failed(self, batch: Ends, landed: list[Settled]) -> None:
        """Report what was written, which a cancel or another message in the outbox may have decided."""
        written = {(one.task_id, one.fence): one.status for one in landed}
        for attempt, settlement in batch:
            status = written.get((settlement.task_id, settlement.fence), "DONE")
            if status != "DONE":
                refused = MESSAGE_STANDS.text() if status == "ERROR" else None
                self._events.attempt_failed(attempt.lease, status, settlement.failure or refused)

    def _write_each(self, batch: Ends, error: LeaseholdError) -> None:
        """Find the item the database refuses: it alone fails, for good."""
        if len(batch) > 1:
            for item in batch:
                self._write_ends([item])
            return
        attempt, refused = batch[0]
        if refused.status == "ERROR":
            self._give_up(batch, error)
        else:
            self._write_ends([(attempt, endings.failed(attempt.lease, classify(error)))])

    def _give_up(self, batch: Ends, error: LeaseholdError) -> None:
        for attempt, _ in batch:
            if attempt.lose():
                self._events.lease_lost(attempt.lease, error.code)
            self._held.drop(attempt)

    def _write_progress(self) -> None:
        with self._lock:
            reports, self._progress = self._progress, {}
        if not reports:
            return
        standing = self._store.leases.record_progress(list(reports.values()))
        for task_id, fence in reports.keys() - standing:
            attempt = self._held.get(task_id, fence)
            if attempt is not None and attempt.lose():
                self._events.lease_lost(attempt.lease, "found while reporting progress")
