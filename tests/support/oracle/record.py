"""S8, as the oracle sees it: the stored record, hashed again independently, gives the stored bytes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.support.oracle.evidence import PLACES, Evidence, Facts

EVENTS = "SELECT task_id, id, at, name, fence, attempt, worker, detail, mark FROM event ORDER BY id"
NEEDS = "SELECT task_id, count(*) FROM need GROUP BY task_id"


def s8_record(evidence: Evidence) -> Iterator[str]:
    """A task's first mark follows from its facts, each other from the one before; it stands with the last."""
    outputs: dict[tuple[Any, ...], str | None] = {
        (one.task, one.fence): one.output
        for rows in evidence.outcomes.values()
        for one in rows
        if one.output is not None and one.fence > 0
    }
    roots = _roots(evidence)
    stories: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in evidence.look(EVENTS):
        stories[row[0]].append(row)
    heads = {}
    for task, story in stories.items():
        heads[task] = roots.get(task, b"")
        for row in story:
            heads[task] = _mark(heads[task], row, outputs)
            if heads[task] != bytes(row[-1]):
                yield f"task {task}: event {row[1]} ({row[3]}) does not follow from what was before it"
                break
    for place in PLACES:
        for task, mark in evidence.look(f"SELECT task_id, mark FROM {place}"):  # noqa: S608
            if bytes(mark) != heads.get(task):
                yield f"task {task} stands in {place} with a mark that is not its last event's"


def _roots(evidence: Evidence) -> dict[int, bytes]:
    needs: dict[int, int] = dict(evidence.look(NEEDS))
    stages: dict[int, int] = defaultdict(int)
    for facts in evidence.tasks.values():
        if facts.parent is not None and facts.segment is None:
            stages[facts.job] += 1
    return {task: _root(facts, _unmet(facts, needs, stages)) for task, facts in evidence.tasks.items()}


def _unmet(facts: Facts, needs: dict[int, int], stages: dict[int, int]) -> int:
    """How many others it waited for when it was submitted: a job for its stages, a stage for those it comes after."""
    if facts.parent is None:
        return stages[facts.job]
    return needs.get(facts.id, 0) if facts.segment is None else 0


def _root(facts: Facts, unmet: int) -> bytes:
    place = (
        facts.kind,
        facts.stage,
        facts.segment,
        facts.epoch,
        facts.parent,
        facts.each_field,
        facts.queue,
        facts.priority,
    )
    terms = (facts.attempts_max, facts.lease_ms, facts.on_lost, unmet, facts.payload, facts.item, facts.key)
    return _digest("\x1f".join("" if one is None else str(one) for one in (*place, *terms)).encode())


def _mark(before: bytes, row: tuple[Any, ...], outputs: dict[tuple[Any, ...], str | None]) -> bytes:
    task, _, at, name, fence, attempt, worker, detail, _ = row
    text = detail or ""
    if name == "done" and fence is not None:
        text = f"{text}\x1f{outputs.get((task, fence)) or ''}"
    fields = "|".join("" if one is None else str(one) for one in (at, name, fence, attempt, worker))
    return _digest(before + f"{fields}|{text}".encode())


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]
