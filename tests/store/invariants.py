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
    "revived": {"waiting", "ready"},
}


def check_everything(store: Store, before: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """Check S1, S3, S5 and S6; return the outcomes, to be given as `before` next time."""
    standing = places(store)
    journal = events(store)
    tasks = [row[0] for row in look(store, "SELECT id FROM task")]
    for task in tasks:
        if journal[task][-1][0] == "superseded":
            assert task not in standing, f"S3: task {task} was superseded and stands in {standing[task]}"
        else:
            check_place(task, standing.get(task, []), journal.get(task, []))
    settled = outcomes(store)
    for key, row in (before or {}).items():
        assert settled[key] == row, "S5: an outcome was changed"
    assert all(unmet >= 0 for (unmet,) in look(store, "SELECT unmet FROM waiting"))
    return settled


def outcomes(store: Store) -> dict[Any, Any]:
    """Every outcome there ever was, by task and epoch: a revival moves it to the past as it is."""
    found: dict[Any, Any] = {}
    for table in ("outcome", "outcome_past"):
        for row in look(store, f"SELECT task_id, epoch, fence, status, output, failure, finished_at FROM {table}"):  # noqa: S608
            assert row[:2] not in found, "S5: an epoch has two outcomes"
            found[row[:2]] = row
    return found


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
