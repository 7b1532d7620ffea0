"""The committer: one thread with its own connection that writes what attempts report.

Whatever has gathered while it was writing becomes the next group: no timer, no set size. Each item is answered by
itself; an item the database refuses fails alone.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from leasehold.batching import BatchThread, answer_all
from leasehold.errors import DatabaseUnavailable, LeaseholdError, LeaseLost, Unavailable
from leasehold.model import lease as endings
from leasehold.model.effect import Entry
from leasehold.model.failure.failure import classify
from leasehold.model.lease import Progress, Settled, Settlement
from leasehold.model.limits import GROUP_BYTES_MAX, GROUP_MAX
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.replies import AnyReply
from leasehold.runtime.commit.requests import CommitBatch, CommitRequest
from leasehold.runtime.effects.effects import Item
from leasehold.runtime.observe.events import Notices
from leasehold.store import Store


class Committer:
    """Writes settlements, effects and progress, in groups."""

    def __init__(self, store: Store, holdings: HeldAttempts, notices: Notices, on_onward: Callable[[], None]) -> None:
        self._store = store
        self._holdings = holdings
        self._notices = notices
        self._on_onward = on_onward
        self._ends: deque[tuple[Attempt, Settlement]] = deque()
        self._asks: deque[CommitRequest] = deque()
        self._notes: dict[tuple[int, int], Progress] = {}
        self._lock = threading.Lock()
        self._thread = BatchThread("leasehold-committer", lambda: self.has_work, self.write)

    def start(self) -> None:
        """Begin writing."""
        self._thread.start()

    def settle(self, attempt: Attempt, settlement: Settlement) -> None:
        """Hand over the end of an attempt."""
        self._ends.append((attempt, settlement))
        self._thread.wake()

    def ask(self, attempt: Attempt, item: Item, reply: AnyReply) -> None:
        """Hand over an entry of an effect or a move; the reply is answered once it is committed or refused."""
        self._asks.append(CommitRequest(attempt, item, reply))
        self._thread.wake()

    def note(self, progress: Progress) -> None:
        """Hand over a report of progress; a newer one of the same attempt replaces it."""
        with self._lock:
            self._notes[progress.task_id, progress.fence] = progress
        self._thread.wake()

    def backlog(self) -> int:
        """Count the ends that are not written yet."""
        return len(self._ends)

    def close(self, seconds: float) -> None:
        """Write what is left, then stop."""
        self._thread.close(seconds)

    def write(self) -> None:
        """Write what has gathered, once; trouble is told and not raised."""
        try:
            group = CommitBatch(self._asks)
            if group.asks and self._ends and self._store.database.dialect.takes_turns:
                self._write_both(group, self._gather())
            else:
                self._write_asks(group)
                self._write_ends(self._gather())
            self._write_notes()
        except Exception as error:  # noqa: BLE001 — the thread must outlive any one group
            self._notices.part_failed("committer", error)

    @property
    def has_work(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._ends or self._asks or self._notes)

    def _write_both(self, group: CommitBatch, ends: list[tuple[Attempt, Settlement]]) -> None:
        """Write entries and ends in one turn; if that is refused, each by itself tells whose fault it is."""

        def work() -> tuple[list[Entry], list[Settled]]:
            group.gather()
            if len(ends) < GROUP_MAX:
                ends.extend(self._gather())
            entries = self._store.effects.enter(group.intents, group.records, group.moves)
            return entries, self._store.leases.settle([settlement for _, settlement in ends])

        try:
            entries, landed = self._store.database.together(work)
        except Unavailable as error:
            answer_all((ask.reply, error) for ask in group.asks)
            self._give_up(ends, error)
        except Exception:  # noqa: BLE001 — they deal with whatever it is
            self._write_asks(group)
            self._write_ends(ends)
        else:
            try:
                self._answer(ends, landed)
            finally:
                self._answer_asks(group, entries)

    def _write_asks(self, group: CommitBatch) -> None:
        asks = group.asks
        if not asks:
            return
        try:
            entries = self._store.effects.enter(group.intents, group.records, group.moves, group.gather)
        except LeaseholdError as error:
            if isinstance(error, Unavailable) or len(asks) == 1:
                answer_all((ask.reply, error) for ask in asks)
                return
            for ask in asks:
                self._write_asks(CommitBatch(deque([ask])))
            return
        except Exception as error:  # noqa: BLE001 — those who wait for this group must not wait for ever
            self._notices.part_failed("committer", error)
            answer_all((ask.reply, DatabaseUnavailable(f"{type(error).__name__}: {error}.")) for ask in asks)
            return
        self._answer_asks(group, entries)

    def _answer_asks(self, group: CommitBatch, entries: list[Entry]) -> None:
        found = {(entry.task_id, entry.fence, entry.key): entry for entry in entries}
        answer_all([(ask.reply, found.get(ask.identity) or self._lost(ask)) for ask in group.asks])

    def _lost(self, ask: CommitRequest) -> LeaseLost:
        if ask.attempt.lose():
            self._notices.lease_lost(ask.attempt.lease, "found while doing an effect")
        return LeaseLost()

    def _gather(self) -> list[tuple[Attempt, Settlement]]:
        group: list[tuple[Attempt, Settlement]] = []
        size = 0
        while self._ends and len(group) < GROUP_MAX and size < GROUP_BYTES_MAX:
            attempt, settlement = self._ends.popleft()
            group.append((attempt, settlement))
            size += settlement.size
        group.sort(key=_task_id)
        return group

    def _write_ends(self, group: list[tuple[Attempt, Settlement]]) -> None:
        if not group:
            return
        # crash here: ended but not written
        # The result is gone; the next attempt makes it again.
        try:
            landed = self._store.leases.settle([settlement for _, settlement in group])
        except Unavailable as error:
            self._give_up(group, error)
            return
        except LeaseholdError as error:
            self._one_by_one(group, error)
            return
        except Exception as error:  # noqa: BLE001 — leases of this group must not be renewed for ever
            self._notices.part_failed("committer", error)
            self._give_up(group, DatabaseUnavailable(f"{type(error).__name__}: {error}."))
            return
        # crash here: written but not answered
        # The task is settled, and nobody here needs to know.
        self._answer(group, landed)

    def _answer(self, group: list[tuple[Attempt, Settlement]], landed: list[Settled]) -> None:
        self._holdings.drop_all(attempt for attempt, _ in group)
        if len(landed) < len(group):
            self._report_lost(group, landed)
            self._on_onward()  # whoever took a lease back may have left the task to the next who looks
        if any(one.onward or one.status == "RETRY" for one in landed) or any(end.deliveries for _, end in group):
            self._on_onward()

    def _report_lost(self, group: list[tuple[Attempt, Settlement]], landed: list[Settled]) -> None:
        known = {(one.task_id, one.fence) for one in landed}
        for attempt, settlement in group:
            if (settlement.task_id, settlement.fence) not in known and attempt.lose():
                self._holdings.drop(attempt)
                self._notices.lease_lost(attempt.lease, "settled too late")

    def _one_by_one(self, group: list[tuple[Attempt, Settlement]], error: LeaseholdError) -> None:
        """Find the item the database refuses: it alone fails, for good."""
        if len(group) > 1:
            for item in group:
                self._write_ends([item])
            return
        attempt, refused = group[0]
        if refused.status == "ERROR":
            self._give_up(group, error)
            return
        self._write_ends([(attempt, endings.failed(attempt.lease, classify(error)))])

    def _give_up(self, group: list[tuple[Attempt, Settlement]], error: LeaseholdError) -> None:
        for attempt, _ in group:
            if attempt.lose():
                self._notices.lease_lost(attempt.lease, error.code)
            self._holdings.drop(attempt)

    def _write_notes(self) -> None:
        with self._lock:
            notes, self._notes = self._notes, {}
        if not notes:
            return
        standing = self._store.leases.note_progress(list(notes.values()))
        for task_id, fence in notes.keys() - standing:
            attempt = self._holdings.get(task_id, fence)
            if attempt is not None and attempt.lose():
                self._notices.lease_lost(attempt.lease, "found while reporting progress")


def _task_id(item: tuple[Attempt, Settlement]) -> int:
    return item[1].task_id
