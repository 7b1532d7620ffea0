"""One database of two, used by names instead of ids, and compared as a whole."""

from __future__ import annotations

import json
from typing import Any

import psycopg

from leasehold.model.lease import Lease
from leasehold.model.outbox import ClaimedDelivery
from leasehold.store import Store
from tests.store import work
from tests.store.model.modelled import Name
from tests.support.oracle.witness import Witness

START = 1_800_000_000_000_000
TABLES = (
    "task", "need", "waiting", "ready", "lease", "outcome", "outcome_past", "unsettled", "event", "dead_letter", "slot",
    "effect", "delivery", "audit", "queue", "budget", "spend", "link",
)  # fmt: skip
NAMES = (
    "SELECT task.id, job.key, task.stage, task.segment, task.epoch FROM task JOIN task AS job ON job.id = task.job_id"
)
LETTERS = """SELECT id, task_id, epoch, fence, error_class, failure, attempts, first_failure_at, last_failure_at,
    escalated, state FROM dead_letter ORDER BY id"""
PLACES = """
SELECT task_id, 'waiting', fence, attempt, epoch, unmet, losses, due_at, NULL, NULL FROM waiting
UNION ALL SELECT task_id, 'ready', fence, attempt, epoch, 0, losses, NULL, NULL, NULL FROM ready
UNION ALL SELECT task_id, 'lease', fence, attempt, epoch, 0, losses, expires_at, cancel_reason, progress FROM lease
UNION ALL SELECT task_id, status, fence, NULL, epoch, 0, 0, finished_at, failure, output FROM outcome
"""
READY = "SELECT queue, task_id FROM ready ORDER BY queue, priority DESC, position"
EVENTS = "SELECT task_id, name, fence, attempt, at, detail FROM event ORDER BY id"
PAST = "SELECT task_id, epoch, fence, status, output, failure, finished_at FROM outcome_past"
EFFECTS = """SELECT task_id, key, number, kind, fence, attempt, result, failure, intended_at, recorded_at
FROM effect ORDER BY key"""
MESSAGES = """SELECT task_id, subject, status, fence, attempts, message, lookups, due_at, notification_id, notified_at,
    failure FROM delivery ORDER BY subject"""
BUDGETS = "SELECT job_id, name, most, spent FROM budget"
SPENDS = "SELECT task_id, key, fence, name, amount, remaining, at FROM spend ORDER BY key"
SLOTS = "SELECT queue, count(*) FROM slot WHERE task_id IS NOT NULL GROUP BY queue"


class Side:
    """One database. It keeps leases and claims by name, as those who hold them would."""

    def __init__(self, store: Store, connection: Any) -> None:
        self.store = store
        self._connection = connection
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")

    def begin(self) -> None:
        """Forget everything."""
        self._connection.execute("BEGIN")
        for table in TABLES:
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608
        self._connection.execute("COMMIT")
        self.set_clock(0)
        self.worker = work.register(self.store)
        self.witness = Witness()
        self.ids: dict[Name, int] = {}
        self.names: dict[int, Name] = {}
        self.leases: dict[tuple[Name, int], Lease] = {}
        self.taken: dict[tuple[str, int], ClaimedDelivery] = {}

    def set_clock(self, now: float) -> None:
        """Set the clock."""
        self.store.database.perform(lambda session: session.set_clock(START + round(now * 1_000_000)))

    def look(self, query: str) -> list[tuple[Any, ...]]:
        """Read the tables as they are."""
        return list(self._connection.execute(query).fetchall())

    def learn(self) -> None:
        """Find out the names of new tasks."""
        self.names = {row[0]: (row[1], row[2], row[3], row[4]) for row in self.look(NAMES)}
        self.ids = {name: task for task, name in self.names.items()}

    def letter_id(self, name: Name, epoch: int) -> int:
        """Find a letter by what it is about."""
        rows = self.look(f"SELECT id FROM dead_letter WHERE task_id = {self.ids[name]} AND epoch = {epoch}")  # noqa: S608
        return int(rows[0][0])

    def view(self) -> dict[str, Any]:
        """Everything that both databases must agree upon, by name."""
        letters = [(row[0], (self.names[row[1]], *row[2:9], bool(row[9]), row[10])) for row in self.look(LETTERS)]
        known = {letter: (row[0], row[1]) for letter, row in letters}
        journal: dict[Name, list[tuple[Any, ...]]] = {}
        for task, name, fence, attempt, at, detail in self.look(EVENTS):
            journal.setdefault(self.names[task], []).append((name, fence, attempt, at, _decoded(detail, known)))
        return {
            "places": self._by_name(PLACES),
            "ready": [(queue, self.names[task]) for queue, task in self.look(READY)],
            "unseen": {self.names[task] for (task,) in self.look("SELECT task_id FROM unsettled")},
            "journal": journal,
            "past": self._by_name(PAST),
            "letters": sorted((row for _, row in letters), key=str),
            "effects": self._by_name(EFFECTS),
            "messages": self._by_name(MESSAGES),
            "budgets": self._by_name(BUDGETS),
            "spends": self._by_name(SPENDS),
            "slots": dict(self.look(SLOTS)),
        }

    def _by_name(self, query: str) -> list[tuple[Any, ...]]:
        return sorted(((self.names[row[0]], *row[1:]) for row in self.look(query)), key=str)


def _decoded(detail: str | None, letters: dict[int, Any]) -> Any:
    """Read a detail; a letter's id is of one database only."""
    fields = json.loads(detail) if detail else None
    if isinstance(fields, dict) and "letter" in fields:
        fields["letter"] = letters[fields["letter"]]
    return fields
