"""S8, as the oracle sees it: the stored record, hashed again by hand, gives the stored bytes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

PLACES = ("waiting", "ready", "lease", "outcome")
EVENTS = "SELECT task_id, id, at, name, fence, attempt, worker, detail, mark FROM event ORDER BY id"
OUTPUTS = "SELECT task_id, fence, output FROM {} WHERE output IS NOT NULL AND fence > 0"


def s8_record(look: Any) -> Iterator[str]:
    """Every event's mark follows from the one before it, and a task stands with the mark of its last event."""
    outputs = {row[:2]: row[2] for table in ("outcome", "outcome_past") for row in look(OUTPUTS.format(table))}
    stories: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in look(EVENTS):
        stories[row[0]].append(row)
    heads = {}
    for task, story in stories.items():
        heads[task] = bytes(story[0][-1])
        for row in story[1:]:
            heads[task] = _mark(heads[task], row, outputs)
            if heads[task] != bytes(row[-1]):
                yield f"task {task}: event {row[1]} ({row[3]}) does not follow from the ones before it"
                break
    for place in PLACES:
        for task, mark in look(f"SELECT task_id, mark FROM {place}"):  # noqa: S608
            if bytes(mark) != heads.get(task):
                yield f"task {task} stands in {place} with a mark that is not its last event's"


def _mark(before: bytes, row: tuple[Any, ...], outputs: dict[tuple[Any, ...], str]) -> bytes:
    task, _, at, name, fence, attempt, worker, detail, _ = row
    said = detail or ""
    if name == "done" and fence is not None and (task, fence) in outputs:
        said = f"{said}\x1f{outputs[task, fence]}"
    fields = "|".join("" if one is None else str(one) for one in (at, name, fence, attempt, worker))
    return hashlib.sha256(before + f"{fields}|{said}".encode()).digest()[:16]
