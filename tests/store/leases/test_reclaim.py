"""Renew, release and reclaim: who keeps a lease, who gives it up, and what becomes of the attempt."""

import pytest

from leasehold.model.failure import loss
from leasehold.model.failure.loss import Reclaim
from leasehold.model.graph import Definition, Stage
from leasehold.model.lease import Progress, Renewal
from leasehold.model.task import Terms
from leasehold.store.workers import PulseQuery
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, claim_one, finish, look, register, status, submit


def sweep(store):
    return store.leases.reclaim(store.losses.expired())


def renewal(lease, lease_ms=30_000):
    return Renewal(lease.task_id, lease.fence, lease_ms)


def released(lease):
    return Reclaim(lease.task_id, lease.fence, "released")


def test_a_renewed_lease_stands_for_its_full_time_again(store, worker, clock):
    submit(store, "k")
    lease = claim_one(store, worker)
    clock.advance(29)
    (held,) = store.leases.renew([renewal(lease)])
    assert (held.task_id, held.fence, held.cancel_reason) == (lease.task_id, 1, None)
    clock.advance(29)
    assert store.losses.expired() == []
    assert len(finish(store, [lease])) == 1


def test_a_lease_that_expired_is_not_renewed(store, worker, clock):
    submit(store, "a", "b")
    first, second = claim(store, worker)
    clock.advance(20)
    store.leases.renew([renewal(second)])
    clock.advance(10)
    assert [one.task_id for one in store.leases.renew([renewal(first), renewal(second)])] == [second.task_id]


def test_a_renewal_with_an_old_fence_holds_nothing(store, worker, clock):
    submit(store, "k")
    first = claim_one(store, worker)
    clock.advance(31)
    sweep(store)
    second = claim_one(store, worker)
    before = look(store, "SELECT * FROM lease")
    assert store.leases.renew([renewal(first, 999_000)]) == []
    assert look(store, "SELECT * FROM lease") == before
    assert len(store.leases.renew([renewal(second)])) == 1


def test_a_renewal_reports_that_the_task_shall_stop(store, worker):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    store.tasks.cancel(task, work.REASON)
    assert [one.cancel_reason for one in store.leases.renew([renewal(lease)])] == [work.REASON]


def test_more_leases_than_one_batch_are_renewed_in_one_call(store, worker, clock):
    submit(store, *[str(number) for number in range(10_500)])
    leases = [lease for _ in range(11) for lease in claim(store, worker, 1000)]
    clock.advance(20)
    assert len(store.leases.renew([renewal(lease) for lease in leases])) == 10_500
    clock.advance(20)
    assert store.losses.expired() == []


def test_a_released_lease_spends_no_attempt_and_keeps_its_fence(store, worker):
    """S1 and S12: the attempt is given back, the fence never is."""
    submit(store, "k", attempts_max=1)
    for fence in (1, 2, 3):
        lease = claim_one(store, worker)
        assert (lease.attempt, lease.fence) == (1, fence)
        (vacated,) = store.leases.reclaim([released(lease)])
        assert (vacated.status, vacated.queue) == ("READY", "default")
    assert finish(store, [lease]) == []
    check_everything(store)


def lose(store, clock):
    """Have the worker of every lease be lost; decide what follows as a sweeper does, and wait until it is due."""
    clock.advance(30)
    taken = store.leases.reclaim([loss.decide(one, ()) for one in store.losses.expired()])
    clock.advance(60)
    store.stages.make_due()
    return taken


def test_s12_a_lost_worker_spends_a_loss_and_no_attempt_until_the_losses_are_spent(store, worker, clock):
    """So a task that kills its worker runs out, and one that fails does not run out sooner for it."""
    store.tasks.publish(Definition("a", Terms(), losses=3))
    (task,) = submit(store, "k", attempts_max=1)
    for number in (1, 2):
        lease = claim_one(store, worker)
        assert (lease.attempt, lease.losses, lease.failures) == (number, number - 1, 1)
        (taken,) = lose(store, clock)
        assert (taken.task_id, taken.fence, taken.status) == (task, number, "READY")
    assert claim_one(store, worker).failures == 1
    assert [one.status for one in lose(store, clock)] == ["ERROR"]
    failure = work.failure(store, task)
    assert (failure["error_class"], failure["context"]) == ("WORKER_CRASHED", {"losses": 3})
    assert "3 times" in failure["message"]
    check_everything(store)


def test_s12_what_had_not_begun_loses_nothing_and_comes_back_at_once(store, worker):
    (task,) = submit(store, "k", on_lost="bury")
    lease = claim_one(store, worker)
    assert [one.status for one in store.leases.reclaim([loss.decide(lost(store, worker), {(task, 1)})])] == ["READY"]
    again = claim_one(store, worker)
    assert (again.attempt, again.losses, again.fence) == (1, 0, lease.fence + 1)
    check_everything(store)


def lost(store, worker):
    (one,) = store.losses.of_worker(worker)
    return one


def test_a_lost_task_stands_where_it_stood_before_after_the_second_loss_with_a_delay(store, worker, clock):
    """Behind the whole backlog it would wait for everything that came after it."""
    first, second, third = submit(store, "a", "b", "c")
    claim_one(store, worker)
    submit(store, *"defg")
    store.leases.reclaim([loss.decide(lost(store, worker), ())])
    assert claim_one(store, worker).task_id == first
    decided = loss.decide(lost(store, worker), ())
    assert 0 < decided.delay_us < 1_000_000
    store.leases.reclaim([decided])
    assert claim_one(store, worker).task_id == second
    clock.advance(1)
    store.stages.make_due()
    assert [lease.task_id for lease in claim(store, worker, 2)] == [first, third]
    check_everything(store)


def test_s12_after_a_second_loss_only_a_claim_for_suspects_finds_a_task(store, worker, clock):
    submit(store, "k")
    for _ in range(2):
        claim_one(store, worker, routes=["a"])
        lose(store, clock)
    assert claim(store, worker, routes=["a"]) == []
    assert store.workers.pulse(PulseQuery()).suspects == {("!a", 2)}
    suspect = claim_one(store, worker, routes=["!a"])
    assert suspect.is_suspect
    store.leases.settle([work.retry(suspect, 1)])
    clock.advance(1)
    store.stages.make_due()
    assert claim(store, worker, routes=["a"]) == [], "a failure does not clear it"
    check_everything(store)


def test_the_losses_of_a_stage_are_those_of_its_definition(store, worker, clock):
    stages = (Stage("one", Terms(), losses=1), Stage("two", Terms(), losses=7))
    store.tasks.publish(Definition("film", Terms(), stages))
    work.pipeline(store, "k", *stages)
    claim(store, worker, routes=["film/one", "film/two"])
    assert [one.losses_max for one in store.losses.of_worker(worker)] == [1, 7]


def test_the_tasks_that_ran_in_the_same_worker_are_named(store, worker):
    first, second, third = submit(store, "a", "b", "c")
    claim(store, worker)
    held = store.losses.of_worker(worker)
    store.leases.reclaim([loss.decide(one, {(third, 1)}, held) for one in held])
    assert [store.losses.ran_with(task) for task in (first, second, third)] == [[second], [first], []]
    check_everything(store)


def test_a_task_that_must_not_repeat_is_buried_when_its_worker_is_lost(store, worker, clock):
    (task,) = submit(store, "k", on_lost="bury")
    claim_one(store, worker)
    clock.advance(30)
    assert [one.status for one in sweep(store)] == ["ERROR"]
    assert work.failure(store, task)["error_class"] == "WORKER_CRASHED"
    assert "bury" in work.failure(store, task)["message"]


def test_a_task_that_must_not_repeat_may_still_be_released_unstarted(store, worker):
    submit(store, "k", on_lost="bury")
    assert [one.status for one in store.leases.reclaim([released(claim_one(store, worker))])] == ["READY"]


def test_the_leases_of_an_owner_that_is_gone_are_taken_back_at_once(store, worker):
    submit(store, "a", "b")
    other = register(store, 2)
    claim_one(store, worker)
    kept = claim_one(store, other)
    held = store.leases.held_by(worker)
    vacated = store.leases.reclaim([Reclaim(task, fence, "owner gone") for task, fence in held])
    assert [one.status for one in vacated] == ["READY"]
    assert store.leases.held_by(worker) == []
    assert store.leases.held_by(other) == [(kept.task_id, 1)]


def test_every_way_back_to_ready_leaves_an_event_with_the_reason(store, worker, clock):
    """S6: a reclaim is a change of place like any other."""
    (task,) = submit(store, "k")
    store.leases.reclaim([released(claim_one(store, worker))])
    lease = claim_one(store, worker)
    store.leases.reclaim([Reclaim(task, lease.fence, "owner gone")])
    claim_one(store, worker)
    clock.advance(31)
    sweep(store)
    lines = [(one.name, one.detail) for one in store.reports.events(task) if one.name.startswith("re")]
    assert lines == [
        ("released", '{"status":"READY","why":"released"}'),
        ("reclaimed", '{"losses":1,"status":"READY","why":"owner gone"}'),
        ("reclaimed", '{"losses":2,"status":"READY","why":"expired"}'),
    ]


def test_a_sweep_never_takes_a_lease_that_was_renewed_after_it_looked(store, worker, clock):
    submit(store, "k")
    lease = claim_one(store, worker)
    store.leases.renew([renewal(lease, 1000)])
    clock.advance(0.5)
    seen = [Reclaim(lease.task_id, lease.fence, "expired")]
    store.leases.renew([renewal(lease)])
    clock.advance(1)
    assert store.leases.reclaim(seen) == []
    assert len(finish(store, [lease])) == 1


def test_a_sweep_never_takes_a_newer_lease_of_the_same_task(store, worker, clock):
    submit(store, "k")
    claim_one(store, worker)
    clock.advance(31)
    seen = store.losses.expired()
    sweep(store)
    newer = claim_one(store, worker)
    clock.advance(31)
    assert store.leases.reclaim(seen) == []
    assert look(store, "SELECT fence FROM lease") == [(newer.fence,)]


@pytest.mark.parametrize("sweepers", [2, 6])
def test_sweepers_at_once_take_every_lease_back_once(store, worker, clock, sweepers):
    submit(store, *[str(number) for number in range(300)])
    claim(store, worker, 300)
    clock.advance(31)
    vacated = [one.task_id for part in at_once(sweepers, lambda _: sweep(store)) for one in part]
    assert len(vacated) == len(set(vacated)) == 300
    assert look(store, "SELECT count(*) FROM event WHERE name = 'reclaimed'") == [(300,)]
    check_everything(store)


def test_settling_and_sweeping_at_once_end_every_lease_one_way(store, worker, clock):
    """S2 and S5: at the edge of its time a lease is settled or taken back, never both."""
    submit(store, *[str(number) for number in range(200)], lease_ms=30_000)
    leases = claim(store, worker, 200)
    owner_gone = [Reclaim(lease.task_id, lease.fence, "owner gone") for lease in leases]

    def act(number):
        return finish(store, leases) if number % 2 else store.leases.reclaim(owner_gone)

    settled: list[int] = []
    vacated: list[int] = []
    for number, answers in enumerate(at_once(4, act)):
        (settled if number % 2 else vacated).extend(one.task_id for one in answers)
    assert len(settled) + len(vacated) == len({*settled, *vacated}) == 200
    check_everything(store)


def test_renewing_and_settling_the_same_leases_at_once_is_no_deadlock(store, worker):
    submit(store, *[str(number) for number in range(600)])
    leases = claim(store, worker, 600)

    def act(number):
        if number == 0:
            return [len(finish(store, leases[start : start + 50][::-1])) for start in range(0, 600, 50)]
        return [len(store.leases.renew([renewal(lease) for lease in leases])) for _ in range(12)]

    answers = at_once(3, act)
    assert sum(answers[0]) == 600
    check_everything(store)


def test_a_swept_task_that_was_asked_to_stop_ends_cancelled(store, worker, clock):
    (task,) = submit(store, "k", attempts_max=5)
    claim_one(store, worker)
    store.tasks.cancel(task, work.REASON)
    clock.advance(31)
    assert [one.status for one in sweep(store)] == ["CANCELLED"]
    assert status(store, task) == "CANCELLED"
    check_everything(store)


def test_expired_leases_already_seen_can_be_left_out(store, worker, clock):
    submit(store, "a", "b")
    claim_one(store, worker)
    clock.advance(10)
    claim_one(store, worker)
    clock.advance(21)
    assert len(store.losses.expired()) == 1
    assert store.losses.expired(since=clock.now - 1_000_000) == []
    clock.advance(10)
    assert len(store.losses.expired()) == 2
    assert len(store.losses.expired(since=clock.now - 2_000_000)) == 1


def test_progress_is_kept_only_while_the_lease_stands(store, worker, clock):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    note = Progress(task, lease.fence, '{"done":3}')
    assert store.leases.record_progress([note, Progress(task, 9, "{}")]) == {(task, 1)}
    assert store.reports.tasks(task)[0].progress == '{"done":3}'
    clock.advance(31)
    assert store.leases.record_progress([note]) == set()


def test_s2_progress_of_an_earlier_attempt_is_not_taken_for_that_of_the_next(store, worker, clock):
    (task,) = submit(store, "k")
    claim_one(store, worker)
    clock.advance(31)
    sweep(store)
    second = claim_one(store, worker)
    assert store.leases.record_progress([Progress(task, second.fence, '{"done":1}')]) == {(task, 2)}
    assert store.leases.record_progress([Progress(task, 1, '{"done":9}')]) == set()
    assert store.reports.tasks(task)[0].progress == '{"done":1}'
