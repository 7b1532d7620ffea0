"""Retention: what is over goes with all that is on record of it; what anybody may still need stays."""

import json

import pytest

from leasehold import clock as times
from leasehold.app.journal import plan_pruning, prune
from leasehold.model import effect
from leasehold.model.delivery import OutgoingMessage
from leasehold.model.effect import Intent
from leasehold.model.lease import Settlement, done
from leasehold.testing import Clock
from tests.store import work
from tests.store.work import advance, claim, claim_one, fail, finish, look, pipeline, register, stage, submit

DAY = 24 * 3600
TABLES = ("task", "need", "waiting", "ready", "lease", "outcome", "event", "effect", "delivery", "dead_letter")


def sweep(store, days: float = 30, notice=lambda _: None, **options):
    return prune(store, times.microseconds(days * DAY), "tester", notice, **options)


def left(store) -> list[str]:
    return [row[0] for row in look(store, "SELECT key FROM task WHERE parent_id IS NULL ORDER BY id")]


def rows(store) -> dict[str, int]:
    return {table: look(store, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}  # noqa: S608


def intend(lease, key: str = "k") -> Intent:
    return Intent(lease.job_id, key, lease.task_id, lease.fence, lease.attempt, 1, "PAY", "{}")


def film(store, worker, key: str, segments: int = 3) -> int:
    """Run a pipeline to its end."""
    job = pipeline(store, key, stage("script"), stage("audio", "script", each="scenes")).id
    finish(store, claim(store, worker, routes=work.routes_of("script", "audio")), {"scenes": list(range(segments))})
    advance(store)
    finish(store, claim(store, worker, routes=work.routes_of("script", "audio")))
    advance(store)
    assert work.status(store, job) == "DONE"
    return job


def test_a_job_that_is_long_over_goes_with_everything_on_record_of_it(store, clock, worker):
    film(store, worker, "old")
    submit(store, "plain")
    lease = claim_one(store, worker)
    store.effects.enter([intend(lease)], [])
    store.effects.enter([], [effect.done(intend(lease), "1")])
    finish(store, [lease])
    assert left(store) == ["old", "plain"]
    clock.advance(31 * DAY)
    swept = sweep(store)
    assert (swept.pruned.jobs, swept.pruned.tasks, swept.pruned.effects) == (2, 7, 1)
    assert rows(store) == dict.fromkeys(TABLES, 0)


def test_a_younger_job_stays_and_so_does_one_that_ended_lately(store, clock, worker):
    submit(store, "over")
    finish(store, claim(store, worker))
    submit(store, "slow")
    clock.advance(25 * DAY)
    finish(store, claim(store, worker))
    submit(store, "young")
    finish(store, claim(store, worker))
    clock.advance(10 * DAY)
    swept = sweep(store)
    assert (swept.pruned.jobs, swept.kept) == (1, 1)
    assert left(store) == ["slow", "young"]


@pytest.mark.parametrize("place", ["waiting", "ready", "lease", "unsettled"])
def test_what_is_live_is_never_touched(store, clock, worker, place):
    if place == "waiting":
        submit(store, "live", delay=100 * DAY)
    elif place == "unsettled":
        pipeline(store, "live", stage("script"))
        finish(store, claim(store, worker, routes=work.routes_of("script")))
    else:
        submit(store, "live")
        if place == "lease":
            claim_one(store, worker)
    before = rows(store)
    clock.advance(31 * DAY)
    assert sweep(store).pruned.jobs == 0
    assert rows(store) == before


@pytest.mark.parametrize("place", ["lease", "unsettled"])
def test_a_job_that_was_called_off_stays_while_a_stage_of_it_has_not_stopped(store, clock, worker, place):
    """Its own end is old by then: what is left of it would stand without facts."""
    film = pipeline(store, "live", stage("script"))
    leases = claim(store, worker, routes=work.routes_of("script"))
    store.tasks.cancel(film.id, work.REASON)
    if place == "unsettled":
        finish(store, leases)
    clock.advance(31 * DAY)
    assert (work.status(store, film.id), sweep(store).pruned.jobs) == ("CANCELLED", 0)
    store.leases.reclaim(store.losses.expired())
    advance(store)
    assert (sweep(store).pruned.jobs, left(store)) == (1, [])


def test_a_dead_letter_keeps_its_job_until_it_is_resolved(store, clock, worker):
    submit(store, "dead")
    fail(store, claim(store, worker))
    clock.advance(31 * DAY)
    assert (sweep(store).pruned.jobs, left(store)) == (0, ["dead"])
    with work.connect(store) as connection:
        name = "dead_letter" if store.url.startswith("sqlite") else "leasehold.dead_letter"
        connection.execute(f"UPDATE {name} SET state = 'resolved'")  # noqa: S608
    assert (sweep(store).pruned.jobs, left(store)) == (1, [])


def test_an_effect_in_doubt_keeps_its_job(store, clock, worker):
    submit(store, "doubt")
    lease = claim_one(store, worker)
    store.effects.enter([intend(lease)], [])
    finish(store, [lease])
    clock.advance(31 * DAY)
    assert (sweep(store).pruned.jobs, left(store)) == (0, ["doubt"])
    with work.connect(store) as connection:
        name = "effect" if store.url.startswith("sqlite") else "leasehold.effect"
        connection.execute(f"UPDATE {name} SET result = '1'")  # noqa: S608
    assert (sweep(store).pruned.jobs, left(store)) == (1, [])


@pytest.mark.parametrize("missing", ["notified_at", "notification_id"])
def test_a_message_that_is_marked_sent_without_evidence_keeps_its_job(store, clock, worker, missing):
    evidence = {"notified_at": "1", "notification_id": "'n'", missing: "NULL"}
    posted(store, worker, ", ".join(["status = 'sent'", *(f"{name} = {one}" for name, one in evidence.items())]))
    clock.advance(31 * DAY)
    assert sweep(store).pruned.jobs == 0


@pytest.mark.parametrize("status", ["pending", "sending", "failed", "in_doubt", "reconciling", "sent"])
def test_a_message_that_is_not_delivered_keeps_its_job(store, clock, worker, status):
    posted(store, worker, f"status = '{status}', notified_at = 1, notification_id = 'n'")
    clock.advance(31 * DAY)
    assert sweep(store).pruned.jobs == (1 if status == "sent" else 0)


def posted(store, worker, assignments: str) -> None:
    """Run a job that delivers one message, and do this to its row."""
    submit(store, "post")
    lease = claim_one(store, worker)
    post = OutgoingMessage("subject", "ada@example.org", 1, "{}", "default")
    ended = Settlement(lease.task_id, lease.fence, "DONE", "null", deliveries=[post])
    assert len(store.leases.settle([ended])) == 1
    with work.connect(store) as connection:
        name = "delivery" if store.url.startswith("sqlite") else "leasehold.delivery"
        connection.execute(f"UPDATE {name} SET {assignments}")  # noqa: S608


def test_only_the_kind_asked_for_goes(store, clock, worker):
    submit(store, "one", kind="a")
    submit(store, "two", kind="b")
    finish(store, claim(store, worker))
    clock.advance(31 * DAY)
    swept = sweep(store, kind="b")
    assert (swept.pruned.jobs, swept.kept, left(store)) == (1, 0, ["one"])


def test_batches_are_small_and_a_job_is_never_divided(store, clock, worker):
    film(store, worker, "big", segments=5)
    submit(store, *[f"small {number}" for number in range(7)])
    finish(store, claim(store, worker))
    clock.advance(31 * DAY)
    totals: list[int] = []
    swept = sweep(store, batch=3, notice=lambda total: totals.append(total.tasks))
    assert totals == [8, 11, 14, 15]
    assert swept.pruned.jobs == 8
    lines = look(store, "SELECT principal, action, noun, detail FROM audit ORDER BY id")
    assert [line[:3] for line in lines] == [("tester", "prune", "job")] * 4
    assert sum(json.loads(line[3])["jobs"] for line in lines) == 8


def test_a_dry_run_counts_and_changes_nothing(store, clock, worker):
    film(store, worker, "old")
    submit(store, "live")
    clock.advance(31 * DAY)
    before = rows(store)
    found = plan_pruning(store, times.microseconds(30 * DAY))
    assert (found.pruned.jobs, found.pruned.tasks, found.kept) == (1, 6, 1)
    assert rows(store) == before
    assert look(store, "SELECT count(*) FROM audit") == [(0,)]


def test_workers_that_ended_long_ago_go_unless_they_hold_something(store, clock, worker):
    holder, other = register(store, 2), register(store, 3)
    submit(store, "held")
    claim_one(store, holder)
    store.workers.deregister([worker, holder])
    clock.advance(31 * DAY)
    assert sweep(store).workers == 1
    assert look(store, "SELECT id FROM worker ORDER BY id") == [(holder,), (other,)]


def test_many_jobs_are_walked_page_by_page_and_a_key_can_be_used_again(store):
    clock = Clock(store)
    worker = register(store)
    submit(store, *[f"job {number}" for number in range(250)])
    store.leases.settle([done(lease, "null") for lease in claim(store, worker, 1000)])
    clock.advance(31 * DAY)
    assert sweep(store, batch=100).pruned.jobs == 250
    assert len(submit(store, "job 1")) == 1
