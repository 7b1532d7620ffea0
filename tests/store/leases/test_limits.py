"""Limited queues: a slot for every running task, taken with the claim and given back with the end."""

import threading

import psycopg
import pytest

from leasehold.model.failure.loss import Reclaim
from leasehold.store import open_store
from tests.store import work
from tests.store.model.invariants import slots_taken
from tests.store.work import at_once, claim, claim_limited, finish, look, register, retry, submit
from tests.support.wait import until

MANY = [str(number) for number in range(40)]


def running(store) -> int:
    return look(store, "SELECT count(*) FROM lease")[0][0]


def test_a_limited_queue_runs_no_more_than_its_limit(store, worker):
    """S11: live leases of a limited queue never exceed its limit."""
    submit(store, *MANY)
    store.queues.limit("default", 4)
    leases = claim_limited(store, worker, "default", 10)
    assert [lease.key for lease in leases] == ["0", "1", "2", "3"]
    assert claim_limited(store, worker, "default", 10) == []
    finish(store, leases[:2])
    assert len(claim_limited(store, worker, "default", 1)) == 1
    assert len(claim_limited(store, worker, "default", 10)) == 1
    assert running(store) == slots_taken(store, "default") == 4


def test_a_limited_queue_is_not_claimed_from_past_its_slots(store, worker):
    submit(store, *MANY)
    store.queues.limit("default", 1)
    assert claim(store, worker) == []
    assert claim_limited(store, worker, "other") == []


def test_an_unlimited_queue_is_not_claimed_by_slot(store, worker):
    submit(store, "k")
    assert claim_limited(store, worker, "default") == []
    assert len(claim(store, worker)) == 1


@pytest.mark.parametrize("way", ["done", "failed", "retried", "released", "expired", "owner gone"])
def test_every_end_of_a_lease_frees_its_slot(store, worker, clock, way):
    submit(store, "k", "other")
    store.queues.limit("default", 1)
    (lease,) = claim_limited(store, worker, "default")
    match way:
        case "done":
            finish(store, [lease])
        case "failed":
            work.fail(store, [lease])
        case "retried":
            store.leases.settle([retry(lease, 5)])
        case "expired":
            clock.advance(31)
            store.leases.reclaim(store.losses.expired())
        case _:
            store.leases.reclaim([Reclaim(lease.task_id, lease.fence, way)])
    assert slots_taken(store, "default") == 0
    assert len(claim_limited(store, worker, "default")) == 1


def test_a_cancelled_task_keeps_its_slot_until_it_has_stopped(store, worker):
    (task, _) = submit(store, "k", "other")
    store.queues.limit("default", 1)
    (lease,) = claim_limited(store, worker, "default")
    store.tasks.cancel(task, work.REASON)
    assert claim_limited(store, worker, "default") == []
    finish(store, [lease])
    assert len(claim_limited(store, worker, "default")) == 1


def test_sixteen_claimers_on_a_limit_of_four_never_exceed_it(store):
    """S11, with every claimer in a thread of its own and the limit watched from outside."""
    submit(store, *[str(number) for number in range(160)])
    store.queues.limit("default", 4)
    workers = [register(store, number) for number in range(16)]
    finished: list[int] = []
    seen: list[int] = []

    def work_off(number):
        while not over.is_set():
            leases = claim_limited(store, workers[number], "default", 3)
            finished.extend(one.task_id for one in finish(store, leases))
            if len(finished) >= 160:
                over.set()

    def watch():
        while not over.is_set():
            seen.append(running(store))

    with work.ending() as over:
        at_once(17, lambda number: watch() if number == 16 else work_off(number))
    assert len(finished) == len(set(finished)) == 160
    assert max(seen) <= 4
    assert slots_taken(store, "default") == 0


def test_a_raised_limit_lets_more_run_at_once(store, worker):
    submit(store, *MANY)
    store.queues.limit("default", 2)
    claim_limited(store, worker, "default")
    store.queues.limit("default", 5)
    assert len(claim_limited(store, worker, "default")) == 3


def test_a_lowered_limit_lets_the_running_ones_finish_first(store, worker):
    """S11: after the limit was lowered nothing starts before enough have ended."""
    submit(store, *MANY)
    store.queues.limit("default", 5)
    leases = claim_limited(store, worker, "default")
    store.queues.limit("default", 2)
    for number in range(3):
        assert claim_limited(store, worker, "default") == []
        finish(store, [leases[number]])
    assert running(store) == 2
    assert claim_limited(store, worker, "default") == []
    finish(store, [leases[3]])
    assert len(claim_limited(store, worker, "default")) == 1
    assert running(store) == 2


@pytest.mark.parametrize("last", range(5))
def test_a_task_left_from_a_higher_limit_does_not_hold_up_the_others(store, worker, last):
    """L3: whichever slot it has, the others of the lower limit are used."""
    submit(store, *MANY)
    store.queues.limit("default", 5)
    leases = claim_limited(store, worker, "default")
    store.queues.limit("default", 3)
    finish(store, [lease for number, lease in enumerate(leases) if number != last])
    assert len(claim_limited(store, worker, "default")) == 2
    assert running(store) == 3


def test_a_lifted_limit_limits_nothing_and_leaves_no_slot_taken(store, worker):
    submit(store, *MANY)
    store.queues.limit("default", 2)
    limited = claim_limited(store, worker, "default")
    store.queues.limit("default", None)
    assert claim_limited(store, worker, "default") == []
    unlimited = claim(store, worker, 10)
    assert len(unlimited) == 10
    finish(store, limited + unlimited)
    assert slots_taken(store, "default") == 0


def test_a_limit_counts_what_runs_already(store, worker):
    """S11: leases without a slot are given one when the limit comes."""
    submit(store, *MANY)
    leases = claim(store, worker, 6)
    store.queues.limit("default", 3)
    assert slots_taken(store, "default") == 6
    for number in range(4):
        assert claim_limited(store, worker, "default") == []
        finish(store, [leases[number]])
    assert len(claim_limited(store, worker, "default")) == 1
    assert running(store) == slots_taken(store, "default") == 3
    finish(store, leases)
    assert len(claim_limited(store, worker, "default")) == 2


def test_a_limit_lifted_and_set_again_counts_what_runs(store, worker):
    submit(store, *MANY)
    store.queues.limit("default", 2)
    limited = claim_limited(store, worker, "default")
    store.queues.limit("default", None)
    unlimited = claim(store, worker, 3)
    store.queues.limit("default", 4)
    assert slots_taken(store, "default") == 5
    assert claim_limited(store, worker, "default") == []
    finish(store, limited + unlimited)
    assert len(claim_limited(store, worker, "default")) == 4


def test_setting_the_same_limit_again_changes_nothing(store, worker):
    submit(store, *MANY)
    for _ in range(3):
        store.queues.limit("default", 2)
    assert len(claim_limited(store, worker, "default")) == 2
    store.queues.limit("default", 2)
    assert claim_limited(store, worker, "default") == []


def test_a_claim_under_way_when_the_limit_comes_is_counted(postgres, postgres_template):
    """S11: on PostgreSQL a claim that did not see the limit may commit after it was set."""
    url = postgres.create_database(postgres_template)
    store = open_store(url)
    worker = register(store)
    submit(store, *MANY)
    with psycopg.connect(url) as slow, store.transaction(slow):
        assert len(claim(store, worker, 3)) == 3
        setting = threading.Thread(target=store.queues.limit, args=("default", 3))
        setting.start()
        until(lambda: look(store, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] > 0)
    setting.join()
    assert claim_limited(store, worker, "default") == []
    assert slots_taken(store, "default") == 3
    store.close()
    postgres.drop_database(url)


def test_queues_are_listed_with_what_stands_in_them(store, worker):
    submit(store, "a", "b", "c", queue="mail")
    submit(store, "later", queue="mail", delay=60)
    claim(store, worker, 1, queues=["mail"])
    store.queues.pause("idle")
    store.queues.limit("mail", 7)
    found = {one.name: one for one in store.queues.all()}
    mail = found["mail"]
    assert (mail.paused, mail.capacity, mail.waiting, mail.ready, mail.running) == (False, 7, 1, 2, 1)
    assert (found["idle"].paused, found["idle"].capacity, found["idle"].ready) == (True, None, 0)
