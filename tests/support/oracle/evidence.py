"""Everything that is known of one run: the tables, read with plain SQL that both databases understand, and the witness.

Nothing of the engine is used here: the engine is never its own judge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

Look = Callable[[str], list[tuple[Any, ...]]]

PLACES = ("waiting", "ready", "lease", "outcome")
ENDS = ("done", "failed", "cancelled")


class Event(NamedTuple):
    """One line of the journal."""

    id: int
    task: int
    at: int
    name: str
    fence: int | None
    attempt: int | None
    detail: str | None

    @property
    def fields(self) -> dict[str, Any]:
        found = json.loads(self.detail) if self.detail else {}
        return found if isinstance(found, dict) else {}

    @property
    def status(self) -> str:
        """The status the task ended with; empty if it did not end."""
        if self.name in ENDS:
            return {"done": "DONE", "failed": "ERROR", "cancelled": "CANCELLED"}[self.name]
        status = str(self.fields.get("status", "")) if self.name in ("reclaimed", "released") else ""
        return "" if status == "READY" else status

    @property
    def ends(self) -> bool:
        """Whether the task stood in `outcome` after it."""
        return self.name in ENDS or bool(self.status)

    @property
    def frees(self) -> bool:
        """Whether no lease stood after it."""
        return self.name in ("retried", "released", "reclaimed") or self.ends


class Facts(NamedTuple):
    """What a task was submitted with."""

    id: int
    job: int
    parent: int | None
    kind: str
    stage: str | None
    segment: int | None
    epoch: int
    key: str | None
    payload: str | None
    item: str | None
    each_field: str | None
    queue: str
    priority: int
    attempts_max: int
    lease_ms: int
    on_lost: str


class Outcome(NamedTuple):
    """How one epoch of a task ended."""

    task: int
    epoch: int
    fence: int
    status: str
    output: str | None
    failure: str | None
    is_past: bool


class Seen(NamedTuple):
    """One line of the eye in the database."""

    what: str
    task: int
    fence: int | None
    key: str | None
    was: str | None
    now: str | None
    at: int | None
    expires_at: int | None


@dataclass
class Evidence:
    """What the oracle is shown.

    `limits`: the most live leases each limited queue may have had. `has_audit_triggers`: the database was
    watched. `calm_at`: when faults stopped, by the database's clock. `expected`: what a task must have returned, from
    the evidence alone.
    """

    look: Look
    lines: list[tuple[Any, ...]]
    limits: dict[str, int] = field(default_factory=dict)
    has_settled: bool = True
    pruned: bool = False
    has_audit_triggers: bool = False
    calm_at: int | None = None
    expected: Callable[[Evidence, Facts, int], Any] | None = None

    @cached_property
    def events(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = defaultdict(list)
        query = "SELECT id, task_id, at, name, fence, attempt, detail FROM event ORDER BY id"
        for row in self.look(query):
            found[row[1]].append(Event(*row))
        return found

    @cached_property
    def tasks(self) -> dict[int, Facts]:
        columns = "id, job_id, parent_id, kind, stage, segment, epoch, key, payload, item, each_field, queue, priority"
        rows = self.look(f"SELECT {columns}, attempts_max, lease_ms, on_lost FROM task")  # noqa: S608
        return {row[0]: Facts(*row) for row in rows}

    @cached_property
    def children(self) -> dict[int, list[Facts]]:
        """Parts that stand or stood in their place last: not those that a start from the beginning replaced."""
        found: dict[int, list[Facts]] = defaultdict(list)
        for one in self.tasks.values():
            if one.parent is not None and not self.is_superseded(one.id):
                found[one.parent].append(one)
        return found

    @cached_property
    def places(self) -> dict[int, list[tuple[str, int, int]]]:
        found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for place in PLACES:
            for task, fence, epoch in self.look(f"SELECT task_id, fence, epoch FROM {place}"):  # noqa: S608
                found[task].append((place, fence, epoch))
        return found

    @cached_property
    def outcomes(self) -> dict[tuple[int, int], list[Outcome]]:
        """Every outcome there ever was, by task and epoch."""
        found: dict[tuple[int, int], list[Outcome]] = defaultdict(list)
        for table in ("outcome", "outcome_past"):
            for row in self.look(f"SELECT task_id, epoch, fence, status, output, failure FROM {table}"):  # noqa: S608
                task, epoch, fence, status, output, failure = row
                past = table == "outcome_past"
                found[task, epoch].append(Outcome(task, epoch, fence, status, output, failure, past))
        return found

    @cached_property
    def current(self) -> dict[int, Outcome]:
        """Where each settled task stands now."""
        return {one.task: one for rows in self.outcomes.values() for one in rows if not one.is_past}

    @cached_property
    def seen(self) -> list[Seen]:
        """What the eye saw."""
        query = "SELECT what, task, fence, key, was, now, at, expires_at FROM lab_seen ORDER BY number"
        return [Seen(*row) for row in self.look(query)] if self.has_audit_triggers else []

    @cached_property
    def results(self) -> dict[tuple[Any, ...], list[Any]]:
        """Recorded results of effects in the order asked, by job, stage and segment."""
        query = "SELECT job_id, task_id, result FROM effect WHERE result IS NOT NULL ORDER BY job_id, number"
        found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for job, task, result in self.look(query):
            facts = self.tasks.get(task)
            if facts is not None:
                found[job, facts.stage, facts.segment].append(json.loads(result))
        return found

    def is_superseded(self, task: int) -> bool:
        events = self.events.get(task, [])
        return bool(events) and events[-1].name == "superseded"

    def payload(self, facts: Facts) -> dict[str, Any]:
        """The payload of a task's job."""
        found: dict[str, Any] = json.loads(self.tasks[facts.job].payload or "{}")
        return found

    def parts(self, job: int, stage: str) -> list[Any]:
        """The outputs of the segments of a stage, in order."""
        groups = [one.id for one in self.children[job] if one.stage == stage and one.segment is None]
        found = sorted((one for group in groups for one in self.children[group]), key=lambda one: one.segment or 0)
        return [json.loads(self.current[one.id].output or "null") for one in found if one.id in self.current]

    def witnessed(self, word: str) -> list[tuple[Any, ...]]:
        return [line[1:] for line in self.lines if line[0] == word]
