"""What a task's events add up to, and what cannot follow what."""

from typing import Any

import pytest
from msgspec import UNSET

from leasehold.model.journal.fold import Difference, TaskState, compare, fold
from leasehold.model.journal.record import EventLine, OutcomeLine, TaskLine, TaskRecord


def events(*steps) -> list[EventLine]:
    """Make events of `name`, or of (name, fence, attempt, detail); each is a second after the one before."""
    found = []
    for number, step in enumerate(steps):
        name, fence, attempt, detail = (
            (*step, *(None,) * (4 - len(step))) if isinstance(step, tuple) else (step, *(None,) * 3)
        )
        fields = UNSET if detail is None else detail
        found.append(EventLine(task=0, at=number, name=name, fence=fence, attempt=attempt, detail=fields))
    return found


def stands(*steps) -> tuple[set[str], int, int, int]:
    state = fold(events(*steps))
    assert isinstance(state, TaskState), state
    return set(state.places), state.attempt, state.fence, state.epoch


READY = {"status": "READY", "why": "expired"}
BURIED = {"status": "ERROR", "why": "expired"}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["submitted"], ({"waiting", "ready"}, 0, 0, 1)),
        (["submitted", "advanced"], ({"ready"}, 0, 0, 1)),
        (["submitted", ("claimed", 1, 1)], ({"lease"}, 1, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("asked", 1, 1)], ({"lease"}, 1, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("retried", 1, 1, {"delay_us": 1})], ({"waiting"}, 1, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("released", 1, 1, READY)], ({"ready"}, 0, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("reclaimed", 1, 1, READY)], ({"ready"}, 1, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("reclaimed", 1, 1, BURIED)], ({"outcome"}, 1, 1, 1)),
        (["submitted", ("claimed", 1, 1), ("done", 1, 1)], ({"outcome"}, 1, 1, 1)),
        (["submitted", "done"], ({"outcome"}, 0, 0, 1)),
        (
            ["submitted", ("failed", None, None, {}), ("revived", 0, None, {"epoch": 2})],
            ({"waiting", "ready"}, 0, 0, 2),
        ),
        (["submitted", ("claimed", 1, 1), ("done", 1, 1), ("superseded", 1)], ({"nowhere"}, 1, 1, 1)),
    ],
)
def test_the_state_of_a_task_follows_from_its_events(steps, expected):
    assert stands(*steps) == expected


@pytest.mark.parametrize(
    ("steps", "number", "sentence"),
    [
        ([], 1, "its first event should be submitted and is missing"),
        (["claimed"], 1, "its name should be submitted and is claimed"),
        (["submitted", "submitted"], 2, "its name should be another and is submitted"),
        (["submitted", ("claimed", 2, 1)], 2, "its fence should be 1 and is 2"),
        (["submitted", ("claimed", 1, 2)], 2, "its attempt should be 1 and is 2"),
        (["submitted", ("done", 1, 1)], 2, "the place before 'done' should be lease and is ready or waiting"),
        (["submitted", ("claimed", 1, 1), ("done", 2, 1)], 3, "its fence should be 1 and is 2"),
        (["submitted", "done", "done"], 3, "the place before 'done' should be waiting and is outcome"),
        (["submitted", "advanced", "advanced"], 3, "the place before 'advanced' should be waiting and is ready"),
        (["submitted", "vanished"], 2, "its name should be one of the journal's and is vanished"),
        (["submitted", "done", ("revived", 0, None, {"epoch": 3})], 3, "its epoch should be 2 and is 3"),
        (
            ["submitted", ("claimed", 1, 1), ("retried", 1, 1, {"delay_us": 9}), "advanced"],
            4,
            "its time should be 11 or later and is 3",
        ),
    ],
)
def test_an_event_that_cannot_follow_is_named(steps, number, sentence):
    found = fold(events(*steps))
    assert isinstance(found, Difference)
    assert (found.event, found.sentence()) == (number, f"event {number}: {sentence}")


def record(*ends: OutcomeLine, created_at: int = 0) -> TaskRecord:
    task = TaskLine(task=0, queue="q", priority=0, attempts_max=1, lease_ms=1, on_lost="requeue", created_at=created_at)
    return TaskRecord(
        task, events("submitted", ("claimed", 1, 1), ("failed", 1, 1, {"error_class": "X"})), [], list(ends)
    )


END: dict[str, Any] = {
    "task": 0,
    "epoch": 1,
    "fence": 1,
    "status": "ERROR",
    "finished_at": 2,
    "failure": {"error_class": "X"},
}


def test_an_outcome_that_matches_the_events_is_equal():
    assert isinstance(compare(record(OutcomeLine(**END))), TaskState)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"status": "DONE"}, "status of the outcome of epoch 1 should be ERROR and is DONE"),
        ({"fence": 2}, "fence of the outcome of epoch 1 should be 1 and is 2"),
        ({"finished_at": 9}, "finished_at of the outcome of epoch 1 should be 2 and is 9"),
        ({"failure": UNSET}, "the failure of epoch 1 should be {'error_class': 'X'} and is absent"),
        ({"past": True}, "epoch 1 should be current and is past"),
    ],
)
def test_an_outcome_that_differs_from_the_events_is_named(change, sentence):
    found = compare(record(OutcomeLine(**(END | change))))
    assert isinstance(found, Difference)
    assert found.sentence() == sentence


def test_a_missing_outcome_and_another_time_of_submit_are_named():
    missing, moved = compare(record()), compare(record(OutcomeLine(**END), created_at=5))
    assert isinstance(missing, Difference)
    assert isinstance(moved, Difference)
    assert missing.sentence() == "the number of its outcomes should be 1 and is 0"
    assert moved.sentence() == "event 1: created_at should be 0 and is 5"
