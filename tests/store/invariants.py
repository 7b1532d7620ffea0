"""The invariants that can be read off the tables at any moment, whatever happened before."""

import json
from collections import Counter
from typing import Any

from leasehold.store import Store
from tests.store.work import look

PLACES = ("waiting", "ready", "lease", "outcome")
AFTER = {
    "submitted": {"waiting", "ready"},
    "advanced": {"ready"},
    "claimed": {"lease"},
    "asked": {"lease"},
    "retried": {"waiting"},
    "done": {"outcome"},
    "failed": {"outcome"},
    "cancelled": {"outcome"},
}


def check_everything(store: Store, before: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """Check S1, S3, S5 and S6; return the outcomes, to be given as `before` next time."""
    standing = places(store)
    journal = events(store)
    tasks = [row[0] for row in look(store, "SELECT id FROM task")]
    for task in tasks:
        check_place(task, standing.get(task, []), journal.get(task, []))
    settled = {
        row[:2]: row for row in look(store, "SELECT task_id, epoch, fence, status, output, failure FROM outcome")
    }
    for key, row in (before or {}).items():
        assert settled[key] == row, "S5: an outcome was changed"
    assert all(unmet >= 0 for (unmet,) in look(store, "SELECT unmet FROM waiting"))
    return settled


def check_place(task: int, standing: list[tuple[str, int]], journal: list[tuple[Any, ...]]) -> None:
    assert len(standing) == 1, f"S3: task {task} stands in {standing}"
    place, fence = standing[0]
    names = Counter(name for name, _, _ in journal)
    assert names["claimed"] == fence, f"S1: task {task} was claimed {names['claimed']} times, its fence is {fence}"
    assert [line[1] for line in journal if line[0] == "claimed"] == list(range(1, fence + 1))
    assert place in expected_places(journal[-1]), f"S6: task {task} in {place} after {journal[-1]}"
    assert names["submitted"] == 1


def expected_places(line: tuple[Any, ...]) -> set[str]:
    name, _, detail = line
    if name in ("released", "reclaimed"):
        return {"ready"} if json.loads(detail)["status"] == "READY" else {"outcome"}
    return AFTER[name]


def places(store: Store) -> dict[int, list[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {}
    query = " UNION ALL ".join(f"SELECT '{place}', task_id, fence FROM {place}" for place in PLACES)  # noqa: S608
    for place, task, fence in look(store, query):
        found.setdefault(task, []).append((place, fence))
    return found


def events(store: Store) -> dict[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = {}
    for task, name, fence, detail in look(store, "SELECT task_id, name, fence, detail FROM event ORDER BY id"):
        found.setdefault(task, []).append((name, fence, detail))
    return found


def slots_taken(store: Store, queue: str) -> int:
    return look(store, f"SELECT count(*) FROM slot WHERE queue = '{queue}' AND task_id IS NOT NULL")[0][0]  # noqa: S608
