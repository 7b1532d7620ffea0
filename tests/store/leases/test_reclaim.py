"""Renew, release and reclaim: who keeps a lease, who gives it up, and what becomes of the attempt."""

import pytest

from leasehold.model.lease import Progress, Reclaim, Renewal
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, claim_one, finish, look, register, status, submit


def sweep(store):
    return store.leases.reclaim(store.leases.expired())


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
    assert store.leases.expired() == []
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
    assert store.leases.expired() == []


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


def test_an_expired_lease_is_taken_back_and_its_attempt_is_spent(store, worker, clock):
    """S12: attempts are counted at the claim, so a task that kills its worker runs out too."""
    (task,) = submit(store, "k", attempts_max=2)
    claim_one(store, worker)
    clock.advance(30)
    (vacated,) = sweep(store)
    assert (vacated.task_id, vacated.fence, vacated.status) == (task, 1, "READY")
    assert claim_one(store, worker).attempt == 2
    clock.advance(30)
    assert [one.status for one in sweep(store)] == ["ERROR"]
    assert status(store, task) == "ERROR"
    assert work.failure(store, task)["error_class"] == "WORKER_CRASHED"
    assert "no attempts are left" in work.failure(store, task)["message"]
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
        ("reclaimed", '{"status":"READY","why":"owner gone"}'),
        ("reclaimed", '{"status":"READY","why":"expired"}'),
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
    seen = store.leases.expired()
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
    assert len(store.leases.expired()) == 1
    assert store.leases.expired(since=clock.now - 1_000_000) == []
    clock.advance(10)
    assert len(store.leases.expired()) == 2
    assert len(store.leases.expired(since=clock.now - 2_000_000)) == 1


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
