"""The oracle: holds the tables, the journal and the witness against each other, and against S1–S14 and L1.

It reads tables with plain SQL that both databases understand and uses nothing of the engine: the engine is never its
own judge. `judge` returns what is wrong, in words; nothing wrong is an empty list.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from tests.lab.record import s8_record

Look = Callable[[str], list[tuple[Any, ...]]]
Task = tuple[int, int]

PLACES = ("waiting", "ready", "lease", "outcome")
ENDS = ("done", "failed", "cancelled")
AFTER = {
    "submitted": {"waiting", "ready"},
    "advanced": {"ready"},
    "claimed": {"lease"},
    "asked": {"lease"},
    "retried": {"waiting"},
    "done": {"outcome"},
    "failed": {"outcome"},
    "cancelled": {"outcome"},
    "revived": {"waiting", "ready"},
    "superseded": set(),
}

COUNTED = {"claimed": 1, "released": -1}


@dataclass(frozen=True)
class Event:
    """One line of the journal."""

    id: int
    task: int
    at: int
    name: str
    fence: int | None
    attempt: int | None
    detail: str | None

    @property
    def told(self) -> dict[str, Any]:
        found = json.loads(self.detail) if self.detail else {}
        return found if isinstance(found, dict) else {}

    @property
    def ends(self) -> bool:
        """Whether the task stood in `outcome` after it."""
        return self.name in ENDS or (self.name == "reclaimed" and self.told.get("status") != "READY")

    @property
    def frees(self) -> bool:
        """Whether no lease stood after it."""
        return self.name in ("retried", "released", "reclaimed") or self.ends


@dataclass
class Evidence:
    """Everything that is known of one run. `limits`: the most live leases each limited queue may have had."""

    look: Look
    lines: list[tuple[Any, ...]]
    limits: dict[str, int] = field(default_factory=dict)
    has_settled: bool = True
    pruned: bool = False

    @cached_property
    def events(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = defaultdict(list)
        query = "SELECT id, task_id, at, name, fence, attempt, detail FROM event ORDER BY id"
        for row in self.look(query):
            found[row[1]].append(Event(*row))
        return found

    @cached_property
    def tasks(self) -> dict[int, tuple[Any, ...]]:
        query = "SELECT id, job_id, parent_id, kind, stage, segment, queue, attempts_max FROM task"
        return {row[0]: row for row in self.look(query)}

    @cached_property
    def places(self) -> dict[int, list[tuple[str, int, int]]]:
        found: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for place in PLACES:
            for task, fence, epoch in self.look(f"SELECT task_id, fence, epoch FROM {place}"):  # noqa: S608
                found[task].append((place, fence, epoch))
        return found

    @cached_property
    def outcomes(self) -> dict[tuple[int, int], list[tuple[Any, ...]]]:
        """Every outcome there ever was, by task and epoch."""
        found: dict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
        for table in ("outcome", "outcome_past"):
            for row in self.look(f"SELECT task_id, epoch, fence, status, output, failure FROM {table}"):  # noqa: S608
                found[row[0], row[1]].append(row)
        return found

    def witnessed(self, word: str) -> list[tuple[Any, ...]]:
        return [line[1:] for line in self.lines if line[0] == word]


def judge(evidence: Evidence) -> list[str]:
    """Return everything that is wrong."""
    return [f"{name}: {said}" for name, check in CHECKS.items() for said in check(evidence)]


def s1_fences(evidence: Evidence) -> Iterator[str]:
    """At most one live lease; the fence grows by one at each claim."""
    for task, events in evidence.events.items():
        fences = [event.fence for event in events if event.name == "claimed"]
        if fences != list(range(1, len(fences) + 1)):
            yield f"task {task} was claimed with fences {fences}"
        for _, fence, _ in evidence.places[task]:
            if fence != len(fences):
                yield f"task {task} stands with fence {fence} after {len(fences)} claims"
        yield from _overlaps(task, events)
    for (task, fence), count in Counter(line[:2] for line in evidence.witnessed("began")).items():
        if count > 1:
            yield f"attempt {fence} of task {task} began {count} times"


def _overlaps(task: int, events: list[Event]) -> Iterator[str]:
    held = False
    for event in events:
        if event.name == "claimed" and held:
            yield f"task {task} was claimed twice at event {event.id}"
        held = event.name == "claimed" or (held and not event.frees)


def s2_stale_writes(evidence: Evidence) -> Iterator[str]:
    """What lands under a lease is of the lease that stood."""
    for task, events in evidence.events.items():
        yield from _foreign_fences(task, events)
    returned = {line[:2]: line[2] for line in evidence.witnessed("returned")}
    for (task, epoch), rows in evidence.outcomes.items():
        ran = any(event.name == "done" and event.fence is not None for event in evidence.events[task])
        for _, _, fence, status, output, _ in rows:
            if status != "DONE" or not ran:
                continue
            if (task, fence) not in returned:
                yield f"task {task} epoch {epoch} is DONE by attempt {fence}, which has not returned"
            elif json.loads(output) != returned[task, fence]:
                yield f"task {task} epoch {epoch}: the output is not what attempt {fence} returned"


def _foreign_fences(task: int, events: list[Event]) -> Iterator[str]:
    fence = 0
    for event in events:
        if event.name == "claimed":
            fence = event.fence or 0
        elif event.fence is not None and event.name != "superseded" and event.fence != fence:
            yield f"event {event.id} ({event.name}) of task {task} names fence {event.fence}; {fence} stood"


def s3_nothing_lost(evidence: Evidence) -> Iterator[str]:
    """What was answered is there, and stands in exactly one place."""
    for job, kind, key in evidence.witnessed("acked"):
        row = evidence.tasks.get(job)
        if row is None and not evidence.pruned:
            yield f"job {job} ({kind} {key}) was answered and is not there"
    for task in evidence.tasks:
        standing = evidence.places[task]
        superseded = evidence.events[task] and evidence.events[task][-1].name == "superseded"
        if len(standing) != (0 if superseded else 1):
            yield f"task {task} stands in {[place for place, _, _ in standing]}"
    for task in evidence.places:
        if evidence.places[task] and task not in evidence.tasks:
            yield f"task {task} stands in {evidence.places[task]} and has no facts"


def s4_results(evidence: Evidence) -> Iterator[str]:
    """A recorded result is one that really came about, and what is safe to do once was done once."""
    possible: dict[str, set[str]] = defaultdict(set)
    live: Counter[tuple[str, str]] = Counter()
    for kind, key, _, _, was_live, result in evidence.witnessed("acted"):
        possible[key].add(_text(result))
        live[kind, key] += bool(was_live)
    for key, result in evidence.witnessed("answered"):
        if result is not None:
            possible[key].add(_text(json.loads(result)))
    for key, kind, result in evidence.look("SELECT key, kind, result FROM effect WHERE result IS NOT NULL"):
        if kind != "BOOK" and _text(json.loads(result)) not in possible[key]:
            yield f"effect {kind} {key[:8]} has a result that nobody saw"
    for (kind, key), count in live.items():
        if count > 1 and kind != "AGAIN":
            yield f"effect {kind} {key[:8]} was done {count} times by attempts that held their lease"


def s5_settled(evidence: Evidence) -> Iterator[str]:
    """One outcome an epoch, and one end of each in the journal."""
    for (task, epoch), rows in evidence.outcomes.items():
        if len(rows) > 1:
            yield f"task {task} epoch {epoch} has {len(rows)} outcomes"
    epochs = Counter(task for task, _ in evidence.outcomes)
    for task, events in evidence.events.items():
        ends = sum(event.ends for event in events)
        if ends != epochs[task]:
            yield f"task {task} ended {ends} times and has {epochs[task]} outcomes"
        over = False
        for event in events:
            if over and event.name not in ("revived", "superseded"):
                yield f"task {task} was settled, and then {event.name} (event {event.id})"
            over = event.ends or (over and event.name == "superseded")


def s6_journal(evidence: Evidence) -> Iterator[str]:
    """Where a task stands is where its last event put it."""
    for task in evidence.tasks:
        events = evidence.events[task]
        if not events:
            yield f"task {task} has no journal"
            continue
        last = events[-1]
        expected = AFTER.get(last.name)
        if expected is None:
            expected = {"outcome"} if last.ends else {"ready"}
        for place, _, _ in evidence.places[task]:
            if place not in expected:
                yield f"task {task} stands in {place} after {last.name}"
        if Counter(event.name for event in events)["submitted"] != 1:
            yield f"task {task} was submitted more than once"


def s7_sequences(evidence: Evidence) -> Iterator[str]:
    """Segments of one fan-out are numbered from 0 without a gap."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in evidence.look("SELECT parent_id, stage, epoch, segment FROM task WHERE segment IS NOT NULL"):
        found[row[:3]].append(row[3])
    for place, numbers in found.items():
        if sorted(numbers) != list(range(len(numbers))):
            yield f"segments of {place} are numbered {sorted(numbers)}"


def s9_budgets(evidence: Evidence) -> Iterator[str]:
    """Accepted debits never pass a budget."""
    for task, name in evidence.look("SELECT task_id, name FROM budget WHERE spent > granted"):
        yield f"task {task} has passed its budget of {name}"


def s10_cancels(evidence: Evidence) -> Iterator[str]:
    """A running task that ended CANCELLED was asked to stop before."""
    for task, events in evidence.events.items():
        for before, event in pairwise(events):
            if event.name == "cancelled" and event.fence is not None and before.name not in ("asked", "claimed"):
                yield f"task {task} was cancelled after {before.name}"
        claimed = asked = False
        for event in events:
            claimed = event.name == "claimed" or (claimed and event.name == "asked")
            asked = event.name == "asked" or (asked and event.name != "claimed")
            if event.name == "cancelled" and event.fence is not None and not asked:
                yield f"task {task} ended CANCELLED under a lease that nobody asked to stop"


def s11_limits(evidence: Evidence) -> Iterator[str]:
    """Live leases of a limited queue never pass its limit."""
    for queue, limit in evidence.limits.items():
        members = {task for task, row in evidence.tasks.items() if row[6] == queue}
        events = sorted((event for task in members for event in evidence.events[task]), key=lambda one: one.id)
        held: set[int] = set()
        for event in events:
            if event.name == "claimed":
                held.add(event.task)
            elif event.frees:
                held.discard(event.task)
            if len(held) > limit:
                yield f"queue {queue} had {len(held)} leases at event {event.id}"
                break


def s12_attempts(evidence: Evidence) -> Iterator[str]:
    """Attempts are counted by claims, per epoch; a released one is not spent; none is beyond the limit."""
    for task, events in evidence.events.items():
        most = evidence.tasks[task][7] if task in evidence.tasks else None
        yield from _miscounted(task, events, most)


def _miscounted(task: int, events: list[Event], most: int | None) -> Iterator[str]:
    count = 0
    for event in events:
        count += COUNTED.get(event.name, 0)
        if event.name == "revived":
            count = 0
        if event.name == "claimed" and event.attempt != count:
            yield f"task {task}: event {event.id} says attempt {event.attempt}, it is {count}"
        if most is not None and count > most:
            yield f"task {task} has attempt {count} of {most}"


def s13_revivals(evidence: Evidence) -> Iterator[str]:
    """Every burial has a letter; a revived letter made exactly one new epoch."""
    letters = evidence.look("SELECT id, task_id, epoch, state FROM dead_letter")
    for letter, task, epoch, state in letters:
        revived = [event for event in evidence.events[task] if event.name in ("revived", "superseded")]
        made = [event for event in revived if event.told.get("letter") == letter or event.name == "superseded"]
        if state != "open" and not made:
            yield f"letter {letter} is {state} and nothing was revived"
        if len([event for event in made if event.told.get("epoch") == epoch + 1]) > 1:
            yield f"letter {letter} made more than one epoch"
    buried = {(task, epoch) for _, task, epoch, _ in letters}
    wholes = {row[2] for row in evidence.tasks.values()}
    for (task, epoch), rows in evidence.outcomes.items():
        if rows[0][3] == "ERROR" and task not in wholes and (task, epoch) not in buried:
            yield f"task {task} epoch {epoch} ended in ERROR without a letter"
    answered = set(evidence.witnessed("revived"))
    for letter, _, _, state in letters:
        if (letter,) in answered and state == "open":
            yield f"the revival of letter {letter} was answered, and it is open"


def s14_deliveries(evidence: Evidence) -> Iterator[str]:
    """Send before mark; nobody who held the claim sent what may have been sent; only good ends have messages."""
    sends = evidence.witnessed("sent")
    seen = {token for token, _, _, _ in sends}
    live = Counter(token for token, _, was_live, _ in sends if was_live)
    for token, count in live.items():
        if count > 1:
            yield f"message {token[:8]} was sent {count} times by relays that held it"
    rows = evidence.look("SELECT id, subject, provider, status, notification_id, task_id FROM delivery")
    ids = {line[3] for line in sends}
    for delivery, _, _, status, notification, task in rows:
        if status == "sent" and notification not in ids:
            yield f"delivery {delivery} is marked sent and nobody sent it"
        if not any(event.name == "done" for event in evidence.events[task]):
            yield f"delivery {delivery} is of task {task}, which did not end well"
    assert seen >= set(live)


def l1_liveness(evidence: Evidence) -> Iterator[str]:
    """Once faults stop, everything comes to an end."""
    if not evidence.has_settled:
        return
    for task, standing in evidence.places.items():
        for place, _, _ in standing:
            if place != "outcome":
                yield f"task {task} still stands in {place}"
    for (task,) in evidence.look("SELECT task_id FROM unsettled"):
        yield f"nobody looked at the end of task {task}"
    for delivery, status in evidence.look("SELECT id, status FROM delivery WHERE status IN ('pending', 'sending')"):
        yield f"delivery {delivery} is still {status}"


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


CHECKS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "S1": s1_fences,
    "S2": s2_stale_writes,
    "S3": s3_nothing_lost,
    "S4": s4_results,
    "S5": s5_settled,
    "S6": s6_journal,
    "S7": s7_sequences,
    "S8": lambda evidence: s8_record(evidence.look),
    "S9": s9_budgets,
    "S10": s10_cancels,
    "S11": s11_limits,
    "S12": s12_attempts,
    "S13": s13_revivals,
    "S14": s14_deliveries,
    "L1": l1_liveness,
}
