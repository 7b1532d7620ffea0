"""Tasks that were lost with one that killed their workers are not charged for it once it is convicted."""

import pytest

from leasehold.model.failure import loss
from leasehold.store.workers import PulseQuery
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
    assert store.losses.clear(poison) == ["default", "default"]
    assert store.workers.pulse(PulseQuery()).suspects == {"!a"}
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
    assert store.losses.clear(poison) == ["default"]
    lease = claim_one(store, worker, routes=["a"])
    assert (lease.task_id, lease.losses, lease.failures) == (first, 1, 1)
    check_everything(store)


def test_one_that_is_still_a_suspect_after_clearing_stays_apart(store, worker, lose_all):
    poison, other = submit(store, "a", "b")
    lose_all()
    lose_all()
    assert [lose_all(most=1), lose_all(most=1)] == [[other], [other]]
    assert store.losses.clear(poison) == ["default"]
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


def test_what_runs_or_waits_for_a_retry_keeps_its_losses_until_it_ends(store, worker, lose_all, clock):
    running, retrying, poison = submit(store, "a", "b", "c")
    lose_all()
    lose_all()
    claimed = {lease.task_id: lease for lease in claim(store, worker, routes=["!a"])}
    store.leases.settle([work.retry(claimed[retrying], 3600)])
    assert store.losses.clear(poison) == []
    assert work.finish(store, [claimed[running]])
    check_everything(store)


def test_the_suspect_that_was_lost_last_is_tried_first(store, worker, lose_all):
    """What kills its worker at once was begun last."""
    tasks = submit(store, *"abcd")
    lose_all()
    lose_all()
    order = [claim_one(store, worker, routes=["!a"]).task_id for _ in tasks]
    assert order == tasks[::-1]
    check_everything(store)
