"""Tasks that were lost with one that killed their workers are not charged for it once it is convicted."""

import pytest

from leasehold.model.failure import loss
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim
from leasehold.store.workers import Cleared, PulseQuery
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import claim, claim_one, look, register, submit


@pytest.fixture
def lose_all(store, clock):
    """Have a new worker claim everything, of these routes, and be lost with it; wait until all is due again."""
    numbers = iter(range(100, 200))

    def lose(routes=("a", "!a"), most=100) -> list[int]:
        worker = register(store, next(numbers))
        claim(store, worker, most, routes=routes)
        held = store.losses.of_worker(worker)
        store.leases.reclaim([loss.decide(one, (), held) for one in held])
        clock.advance(60)
        store.stages.make_due()
        return [one.task_id for one in held]

    return lose


def test_s12_those_that_were_lost_with_a_convicted_task_are_not_charged_and_stand_where_they_stood(
    store, worker, lose_all
):
    first, poison, third = submit(store, "a", "b", "c")
    lose_all()
    lose_all()
    later = submit(store, "d", "e")
    assert store.losses.clear(poison) == [Cleared(first, "default", "READY"), Cleared(third, "default", "READY")]
    assert store.workers.pulse(PulseQuery()).suspects == {("!a", 2)}
    found = claim(store, worker, routes=["a"])
    assert [lease.task_id for lease in found] == [first, third, *later]
    assert {(lease.attempt, lease.losses, lease.failures) for lease in found} == {(1, 0, 1)}
    assert claim_one(store, worker, routes=["!a"]).losses == 2
    check_everything(store)


def test_clearing_again_takes_nothing_more_back(store, worker, lose_all):
    """A worker that dies between clearing and burying clears again; or another task of the same worker is convicted."""
    submit(store, "a", "b")
    poison, also = submit(store, "c", "d")
    lose_all()
    lose_all()
    assert len(store.losses.clear(poison)) == 3
    work.fail(store, [claim_one(store, worker, routes=["!a"])])
    assert store.losses.clear(also) == []
    lose_all()
    lose_all()
    assert store.losses.clear(poison) == []
    check_everything(store)


def test_a_loss_of_another_worker_stays(store, worker, lose_all):
    first, poison = submit(store, "a", "b")
    lose_all(most=1)
    lose_all()
    lose_all()
    assert store.losses.clear(poison) == [Cleared(first, "default", "READY")]
    lease = claim_one(store, worker, routes=["a"])
    assert (lease.task_id, lease.losses, lease.failures) == (first, 1, 1)
    check_everything(store)


def test_one_that_is_still_a_suspect_after_clearing_stays_apart(store, worker, lose_all):
    poison, other = submit(store, "a", "b")
    lose_all()
    lose_all()
    assert [lose_all(most=1), lose_all(most=1)] == [[other], [other]]
    assert store.losses.clear(poison) == [Cleared(other, "default", "READY")]
    assert claim(store, worker, routes=["a"]) == []
    assert sorted(lease.losses for lease in claim(store, worker, routes=["!a"])) == [2, 2]
    check_everything(store)


def test_losses_of_an_earlier_epoch_are_not_taken_back_from_a_later_one(store, worker, lose_all):
    first, poison = submit(store, "a", "b")
    lose_all()
    lose_all()
    claimed = {lease.task_id: lease for lease in claim(store, worker, routes=["!a"])}
    work.fail(store, [claimed[first]])
    [letter] = look(store, "SELECT id FROM dead_letter")
    store.deadletters.evidence(letter[0], "ada", {"text": "mended"})
    store.deadletters.revive(letter[0], "ada")
    assert [lose_all(), lose_all()] == [[first], [first]]
    assert store.losses.clear(poison) == []
    check_everything(store)


def test_s12_what_runs_or_waits_for_a_retry_is_cleared_where_it_stands_once(store, worker, lose_all, clock):
    """Its lease stands, and so does the time of its retry."""
    running, retrying, asked, poison = submit(store, *"abcd")
    lose_all()
    lose_all()
    claimed = {lease.task_id: lease for lease in claim(store, worker, routes=["!a"])}
    store.leases.settle([work.retry(claimed[retrying], 3600)])
    store.tasks.cancel(asked, Failure("CANCELLED", "no more").text())
    assert store.losses.clear(poison) == [
        Cleared(running, "default", "RUNNING"),
        Cleared(retrying, "default", "NEW"),
        Cleared(asked, "default", "RUNNING"),
    ]
    assert store.losses.clear(poison) == []
    check_everything(store)
    assert work.finish(store, [claimed[running], claimed[asked]])
    clock.advance(3500)
    assert store.stages.make_due().count == 0
    clock.advance(200)
    store.stages.make_due()
    [again] = claim(store, worker, routes=["a"])
    assert (again.task_id, again.attempt, again.losses, again.failures) == (retrying, 2, 0, 2)
    check_everything(store)


def test_s12_one_that_was_cleared_while_it_ran_and_is_lost_again_stands_with_all_others(store, worker, lose_all):
    first, second, poison = submit(store, *"abc")
    lose_all()
    lose_all()
    held = {one.task_id: one for one in claim(store, worker, routes=["!a"])}
    assert len(store.losses.clear(poison)) == 2
    lost = {one.task_id: one for one in store.losses.of_worker(worker)}
    store.leases.reclaim([loss.decide(lost[first], ()), Reclaim(second, held[second].fence, "released")])
    assert [lease.task_id for lease in claim(store, register(store, 300), routes=["a"])] == [first, second]
    check_everything(store)


def test_the_suspect_that_was_lost_last_is_tried_first(store, worker, lose_all):
    """What kills its worker at once was begun last."""
    tasks = submit(store, *"abcd")
    lose_all()
    lose_all()
    order = [claim_one(store, worker, routes=["!a"]).task_id for _ in tasks]
    assert order == tasks[::-1]
    check_everything(store)
