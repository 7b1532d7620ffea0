"""The hash chain over a task's events: whatever is changed, taken out or swapped afterwards shows."""

# ruff: noqa: S608 — the tests edit tables by name

import re

import pytest

from leasehold import canonical
from leasehold.insight.verify import verify
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import retried
from tests.store.work import (
    REASON,
    advance,
    claim,
    claim_one,
    connect,
    fail,
    finish,
    look,
    pipeline,
    routes_of,
    stage,
    status,
    submit,
)

FAILED = Failure("NETWORK_RESET", "cut off", retryable=True)


def change(store, statement, *values):
    with connect(store) as connection:
        if store.database.dialect.name == "postgres":
            connection.execute("SET search_path = leasehold")
            statement = statement.replace("?", "%s")
        connection.execute(statement, values)


@pytest.fixture
def job(store, worker, clock):
    """A job with a history: reclaimed, retried, done."""
    (job_id,) = submit(store, "one", payload={"a": 1})
    lease = claim_one(store, worker)
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    lease = claim_one(store, worker)
    store.leases.settle([retried(lease, FAILED, 0, canonical.encode({"message": "cut off"}))])
    clock.advance(1)
    store.stages.make_due()
    finish(store, [claim_one(store, worker)], {"answer": 42})
    return job_id


def difference(store, job_id):
    return verify.verify_job(store, job_id).difference


def events_of(store, job_id):
    return [row[1] for row in look(store, "SELECT task_id, id FROM event ORDER BY id") if row[0] == job_id]


def test_a_history_that_nobody_touched_fits_its_chain(store, job):
    assert difference(store, job) == ""
    assert len(events_of(store, job)) == 8
    assert look(store, "SELECT count(*) FROM event WHERE mark IS NULL") == [(0,)]


@pytest.mark.parametrize(
    ("column", "value"),
    [("at", 1), ("detail", "{}"), ("name", "released"), ("fence", 9), ("attempt", 7), ("worker", 3)],
)
def test_an_edited_event_shows_and_is_named(store, job, column, value):
    third = events_of(store, job)[2]
    change(store, f"UPDATE event SET {column} = ? WHERE id = ?", value, third)
    assert re.search(rf"event (3|4)\b|\(id ({third}|{third + 1})\)", difference(store, job))


@pytest.mark.parametrize("number", range(8))
def test_an_event_taken_out_shows(store, job, number):
    change(store, "DELETE FROM event WHERE id = ?", events_of(store, job)[number])
    assert difference(store, job) != ""


def test_events_that_changed_places_show(store, job):
    first, second = events_of(store, job)[3:5]
    for column in ("at", "name", "fence", "attempt", "worker", "detail", "mark"):
        change(
            store,
            f"UPDATE event SET {column} = CASE id WHEN {first} THEN (SELECT {column} FROM event WHERE id = {second}) "
            f"ELSE (SELECT {column} FROM event WHERE id = {first}) END WHERE id IN ({first}, {second})",
        )
    assert re.search(r"event (4|5)\b", difference(store, job))


def test_an_output_that_was_changed_afterwards_shows(store, job):
    change(store, "UPDATE outcome SET output = ?", '{"answer":43}')
    assert "'done') does not fit" in difference(store, job)


def test_a_payload_that_was_changed_afterwards_shows(store, job):
    change(store, "UPDATE task SET payload = ? WHERE id = ?", '{"a":2}', job)
    assert "event 1" in difference(store, job)


@pytest.mark.parametrize("key", ["☕", "a\x1fb", "\x1f\x1f", "'\"\\", "k" * 512])
def test_whatever_a_key_holds_both_databases_begin_the_same_chain(store, key):
    (job_id,) = submit(
        store, key, payload={"text": "ü\x1f\n"}, priority=-7, queue="mail", attempts_max=1, on_lost="bury"
    )
    assert difference(store, job_id) == ""
    change(store, "UPDATE task SET key = ? WHERE id = ?", f"{key}\x1f", job_id)
    assert "event 1" in difference(store, job_id)


def test_the_chain_fits_through_pipelines_fan_outs_cancels_and_failures(store, worker, clock):
    film = pipeline(store, "film", stage("script"), stage("audio", "script", each="scenes"), stage("cut", "audio"))
    stopped, broken = submit(store, "stopped", "broken")
    routes = ("a", *routes_of("script", "audio", "cut"))
    for lease in claim(store, worker, routes=routes):
        if lease.job_id == stopped:
            store.tasks.cancel(stopped, REASON)
        if lease.job_id == broken:
            fail(store, [lease])
        else:
            finish(store, [lease], {"scenes": [1, 2]})
    advance(store)
    first, second = claim(store, worker, routes=routes)
    finish(store, [first])
    fail(store, [second])
    advance(store)
    for job_id in (film.id, stopped, broken):
        assert difference(store, job_id) == ""
    assert [status(store, one) for one in (film.id, stopped, broken)] == ["ERROR", "CANCELLED", "ERROR"]
