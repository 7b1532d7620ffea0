"""`verify` derives what a dead letter must hold: first failure, escalation, state."""

# ruff: noqa: S608 — the tests edit tables by name

import contextlib

import pytest

from leasehold import Leasehold, Permanent, Retry, Transient
from leasehold.model.failure import loss
from leasehold.model.graph import Definition
from leasehold.model.task import Terms
from leasehold.testing import Clock, drain
from tests.insight.edited_records import difference, edit, forge, swap
from tests.store.work import claim_one, look, register, submit

RETRY = Retry(attempts=3, delay_initial=10)


@pytest.fixture
def remedies() -> list[str]:
    """What was done about the cause."""
    return []


@pytest.fixture
def app(url, remedies):
    with contextlib.closing(Leasehold(url)) as app:

        @app.job(retry=RETRY)
        def unlucky(task):
            if task.attempt < 3:
                raise Transient("not yet")
            raise Permanent("no", error_class="ORDER_REFUSED")

        film = app.pipeline("film")

        @film.stage
        def script():
            return {"scenes": [1, 2]}

        @film.stage(after=script, each="scenes", retry=RETRY)
        def audio(task):
            if task.segment == 2 and not remedies:
                raise Permanent("hoarse", error_class="HOARSE")

        yield app


@pytest.fixture
def clock(app) -> Clock:
    return Clock(app)


@pytest.fixture
def unlucky(app, clock) -> int:
    """A job that failed three times, was revived, and failed three times again."""
    job = app.submit("unlucky").id
    drain(app, clock)
    revive(app, 1)
    clock.advance(1)
    drain(app, clock)
    return job


def revive(app, letter: int, *, from_start: bool = False) -> None:
    app.deadletters.evidence(letter, "looked at it")
    app.deadletters.revive(letter, from_start=from_start)


def test_letters_of_one_class_that_follow_each_other_are_equal(app, unlucky):
    assert difference(app.store, unlucky) == ""
    assert [bool(row[0]) for row in look(app.store, "SELECT escalated FROM dead_letter ORDER BY id")] == [False, True]


@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("change", ["first_failure_at = first_failure_at + 1", "first_failure_at = last_failure_at"])
def test_when_the_failing_began_cannot_be_edited(app, unlucky, epoch, change):
    edit(app.store, f"UPDATE dead_letter SET {change} WHERE epoch = {epoch}")
    assert f"first_failure_at of the dead letter of epoch {epoch} should be" in difference(app.store, unlucky)


@pytest.mark.parametrize("epoch", [1, 2])
def test_whether_it_came_back_cannot_be_edited(app, unlucky, epoch):
    edit(app.store, f"UPDATE dead_letter SET escalated = NOT escalated WHERE epoch = {epoch}")
    assert f"escalated of the dead letter of epoch {epoch} should be {epoch == 2}" in difference(app.store, unlucky)


@pytest.mark.parametrize(
    ("epoch", "state", "expected"),
    [
        (1, "open", "should be revived and is open"),
        (2, "revived", "should be open and is revived"),
        (2, "resolved", "should be what the audit trail records, not resolved and is resolved"),
        (1, "resolved", "should be what the audit trail records, not resolved and is resolved"),
    ],
)
def test_how_far_a_letter_is_cannot_be_edited(app, unlucky, epoch, state, expected):
    edit(app.store, f"UPDATE dead_letter SET state = '{state}' WHERE epoch = {epoch}")
    assert f"state of the dead letter of epoch {epoch} {expected}" in difference(app.store, unlucky)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"first_failure_at": 1}, "first_failure_at of the dead letter of epoch 1"),
        ({"escalated": True}, "escalated of the dead letter of epoch 1 should be False"),
        ({"state": "open"}, "state of the dead letter of epoch 1 should be revived and is open"),
    ],
)
def test_a_letter_that_was_edited_in_a_record_is_found(app, unlucky, tmp_path, fields, expected):
    assert expected in forge(app, unlucky, tmp_path, lambda records: swap(records[0].letters, 0, **fields))


def test_dead_letters_of_recreated_segments_follow_those_in_the_same_place(app, clock, remedies):
    job = app.submit("film").id
    drain(app, clock)
    revive(app, 1, from_start=True)
    drain(app, clock)
    revive(app, 2)
    remedies.append("honey")
    drain(app, clock)
    assert difference(app.store, job) == ""
    app.deadletters.resolve(1, "done")
    assert difference(app.store, job) == ""
    assert look(app.store, "SELECT state FROM dead_letter ORDER BY id") == [("resolved",), ("revived",)]
    edit(app.store, "UPDATE dead_letter SET state = 'revived' WHERE id = 1")
    assert "state of the dead letter of epoch 1 should be resolved and is revived" in difference(app.store, job)
    edit(app.store, "UPDATE dead_letter SET state = 'resolved' WHERE id = 1")
    edit(app.store, "UPDATE dead_letter SET escalated = NOT escalated WHERE id = 2")
    assert "escalated of the dead letter of epoch 1 should be True and is False" in difference(app.store, job)


def test_a_letter_of_a_worker_that_died_is_equal(app, clock):
    """The reclaim that spends the last loss is its own last failure, not its first."""
    app.store.tasks.publish(Definition("a", Terms(), losses=2))
    (job,) = submit(app.store, "lost")
    for _ in range(2):
        claim_one(app.store, register(app.store))
        clock.advance(3600)
        app.store.leases.reclaim([loss.decide(one, ()) for one in app.store.losses.expired()])
        assert difference(app.store, job) == ""
        clock.advance(3600)
        app.store.stages.make_due()
    assert difference(app.store, job) == ""
    edit(app.store, "UPDATE dead_letter SET first_failure_at = last_failure_at")
    assert "first_failure_at of the dead letter" in difference(app.store, job)
