"""What the oracle asks about jobs, their parts and their ends: S3, S5, S6, S7, S10, S13."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.support.oracle.evidence import Event, Evidence, Facts, Outcome

AFTER = {
    "submitted": {"waiting", "ready"},
    "budgeted": {"waiting", "ready"},
    "advanced": {"ready"},
    "claimed": {"lease"},
    "asked": {"lease"},
    "moved": {"lease"},
    "spent": {"lease"},
    "refused": {"lease"},
    "linked": {"lease"},
    "retried": {"waiting"},
    "done": {"outcome"},
    "failed": {"outcome"},
    "cancelled": {"outcome"},
    "revived": {"waiting", "ready"},
    "superseded": set(),
}
NEVER = {
    "outcome changed": "its outcome",
    "facts changed": "what it was submitted with",
    "event changed": "its journal",
}


def s3_nothing_lost(evidence: Evidence) -> Iterator[str]:
    """What was answered is there, and stands in exactly one place."""
    gone = {seen.task for seen in evidence.seen if seen.what == "outcome gone"}
    for job, kind, key in evidence.witnessed("acked"):
        facts = evidence.tasks.get(job)
        if facts is None:
            if not evidence.pruned or (evidence.has_audit_triggers and job not in gone):
                yield f"job {job} ({kind} {key}) was answered and is not there"
        elif (facts.kind, facts.key, facts.parent) != (kind, key, None):
            yield f"{kind} {key} was answered as job {job}, which is {facts.kind} {facts.key}"
    for task in evidence.tasks:
        standing = evidence.places[task]
        if len(standing) != (0 if evidence.is_superseded(task) else 1):
            yield f"task {task} stands in {[place for place, _, _ in standing]}"
    for task in evidence.places:
        if evidence.places[task] and task not in evidence.tasks:
            yield f"task {task} stands in {evidence.places[task]} and has no facts"


def s5_settled(evidence: Evidence) -> Iterator[str]:
    """One outcome an epoch, the one of the journal, and never another."""
    for (task, epoch), rows in evidence.outcomes.items():
        if len(rows) > 1:
            yield f"task {task} epoch {epoch} has {len(rows)} outcomes"
    for seen in evidence.seen:
        if seen.what in NEVER:
            yield f"of task {seen.task} {NEVER[seen.what]} was changed: {seen.was} → {seen.now}"
    outcomes: dict[int, list[Outcome]] = defaultdict(list)
    for (task, _), rows in sorted(evidence.outcomes.items()):
        outcomes[task].append(rows[0])
    for task, events in evidence.events.items():
        yield from _other_ends(task, [event for event in events if event.ends], outcomes[task])
        yield from _beyond_the_end(task, events)


def _other_ends(task: int, ends: list[Event], outcomes: list[Outcome]) -> Iterator[str]:
    statuses = [one.status for one in outcomes]
    if [event.status for event in ends] != statuses:
        yield f"task {task} ended {[event.status for event in ends]} and has outcomes {statuses}"
        return
    for event, one in zip(ends, outcomes, strict=True):
        if event.name in ("failed", "cancelled") and _document(event.detail) != _document(one.failure):
            yield f"task {task} epoch {one.epoch}: the failure is not the one of the journal"


def _beyond_the_end(task: int, events: list[Event]) -> Iterator[str]:
    over = False
    for event in events:
        if over and event.name not in ("revived", "superseded"):
            yield f"task {task} was settled, and then {event.name} (event {event.id})"
        over = event.ends or (over and event.name == "superseded")


def _document(text: str | None) -> Any:
    return json.loads(text) if text else None


def s6_journal(evidence: Evidence) -> Iterator[str]:
    """Where a task stands is where its last event put it; a retry waits for its time."""
    for task in evidence.tasks:
        events = evidence.events[task]
        if not events:
            yield f"task {task} has no journal"
            continue
        last = events[-1]
        expected = AFTER.get(last.name)
        if last.name == "cleared":
            expected = {"RUNNING": {"lease"}, "NEW": {"waiting"}, "READY": {"ready"}}[last.fields["status"]]
        if expected is None:
            expected = {"outcome"} if last.ends else {"waiting" if last.fields.get("delay_us") else "ready"}
        for place, _, _ in evidence.places[task]:
            if place not in expected:
                yield f"task {task} stands in {place} after {last.name}"
        if Counter(event.name for event in events)["submitted"] != 1:
            yield f"task {task} was submitted more than once"
        yield from _early_retries(task, events)


def _early_retries(task: int, events: list[Event]) -> Iterator[str]:
    for before, after in pairwise(event for event in events if event.fields.get("status") != "NEW"):
        if before.name in ("retried", "reclaimed") and after.name == "advanced":
            due_at = before.at + int(before.fields.get("delay_us", 0))
            if after.at < due_at:
                yield f"task {task} was ready {due_at - after.at} µs before its retry was due"


def s7_sequences(evidence: Evidence) -> Iterator[str]:
    """Segments of one fan-out are numbered from 0 without a gap, one for each item, in order."""
    found: dict[tuple[Any, ...], list[Facts]] = defaultdict(list)
    for facts in evidence.tasks.values():
        if facts.segment is not None:
            found[facts.parent, facts.epoch].append(facts)
    sources: dict[int, int] = dict(evidence.look("SELECT task_id, on_task_id FROM need WHERE number = 0"))
    for (group, epoch), segments in found.items():
        segments.sort(key=lambda one: one.segment or 0)
        if [one.segment for one in segments] != list(range(len(segments))):
            yield f"segments of task {group} are numbered {[one.segment for one in segments]}"
        items = None if any(evidence.is_superseded(one.id) for one in segments) else _items(evidence, group, sources)
        if items is not None and [json.loads(one.item or "null") for one in segments] != items:
            yield f"segments of task {group} (fan-out {epoch}) are for other items than {items}"


def _items(evidence: Evidence, group: Any, sources: dict[int, int]) -> list[Any] | None:
    facts = evidence.tasks.get(group)
    source = evidence.current.get(sources.get(group, -1))
    if facts is None or facts.each_field is None or source is None or source.status != "DONE":
        return None
    items = json.loads(source.output or "null")[facts.each_field]
    return list(items)


def wholes(evidence: Evidence) -> Iterator[str]:
    """A job and a fan-out end as their parts did, and not before."""
    for task, parts in evidence.children.items():
        whole = evidence.current.get(task)
        if whole is None or task not in evidence.tasks:
            continue
        ends = [evidence.current.get(part.id) for part in parts]
        statuses = {"unfinished" if end is None else end.status for end in ends}
        if whole.status == "DONE" and statuses != {"DONE"}:
            yield f"task {task} is DONE and its parts are {sorted(statuses)}"
        if whole.status == "ERROR" and "ERROR" not in statuses:
            yield f"task {task} is in ERROR and its parts are {sorted(statuses)}"
        if "unfinished" in statuses:
            yield f"task {task} has ended before its parts"


def s10_cancels(evidence: Evidence) -> Iterator[str]:
    """Who was asked to stop ends CANCELLED, with the reason it was asked with; nobody else under a lease does."""
    gave_up = set(evidence.witnessed("gave up"))
    for task, events in evidence.events.items():
        asked: Event | None = None
        for event in events:
            if asked is not None:
                yield from _not_stopped(task, asked, event)
            elif event.name == "cancelled" and event.fence is not None and (task, event.fence) not in gave_up:
                yield f"task {task} ended CANCELLED under a lease that nobody asked to stop"
            asked = event if event.name == "asked" else None if event.ends else asked
    yield from _unnamed(evidence)


def _unnamed(evidence: Evidence) -> Iterator[str]:
    for one in evidence.current.values():
        if one.status == "CANCELLED" and (_document(one.failure) or {}).get("error_class") is None:
            yield f"task {one.task} is CANCELLED and has no reason"
    parents = {job for (job,) in evidence.look("SELECT parent_job_id FROM link")}  # what stopped may be below it
    for job, stopped in evidence.witnessed("called off"):
        if stopped and job in evidence.current and evidence.current[job].status != "CANCELLED" and job not in parents:
            yield f"job {job} was called off and is {evidence.current[job].status}"


def _not_stopped(task: int, asked: Event, event: Event) -> Iterator[str]:
    if event.ends and event.status != "CANCELLED":
        yield f"task {task} was asked to stop and ended {event.status}"
    if event.name in ("claimed", "retried", "advanced"):
        yield f"task {task} was asked to stop, and then {event.name} (event {event.id})"
    if event.name == "cancelled" and event.detail != asked.detail:
        yield f"task {task} was cancelled for another reason than it was asked with"


def s13_revivals(evidence: Evidence) -> Iterator[str]:
    """Every burial has a letter; a revived letter made exactly one new epoch, and ran nothing again that was done."""
    letters = evidence.look("SELECT id, task_id, epoch, state FROM dead_letter")
    for letter, task, epoch, state in letters:
        # A start from the beginning closes the letters of other stages too, and names the one that was pressed.
        made = [event for event in evidence.events[task] if event.fields.get("epoch") == epoch + 1]
        if state == "revived" and not made and not evidence.is_superseded(task):
            yield f"letter {letter} is {state} and nothing was revived"
        if len(made) > 1:
            yield f"letter {letter} made more than one epoch"
    buried = {(task, epoch) for _, task, epoch, _ in letters}
    whole = {facts.parent for facts in evidence.tasks.values()}
    for (task, epoch), rows in evidence.outcomes.items():
        if rows[0].status == "ERROR" and task not in whole and (task, epoch) not in buried and task in evidence.tasks:
            yield f"task {task} epoch {epoch} ended in ERROR without a letter"
    answered = set(evidence.witnessed("revived"))
    for letter, _, _, state in letters:
        if (letter,) in answered and state == "open":
            yield f"the revival of letter {letter} was answered, and it is open"
    yield from _done_again(evidence)


def _done_again(evidence: Evidence) -> Iterator[str]:
    """From the stage that failed on: what was DONE is revived only where everything starts again."""
    revivals = evidence.look("SELECT noun_id, detail FROM audit WHERE action = 'revive'")
    from_start = {letter for letter, detail in revivals if json.loads(detail).get("from_start")}
    for task, events in evidence.events.items():
        for before, event in pairwise(events):
            if event.name == "revived" and before.status == "DONE" and event.fields.get("letter") not in from_start:
                yield f"task {task} was done and run again by a revival (event {event.id})"
