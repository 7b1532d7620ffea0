"""Rows of worker processes: those of long ago go when others register, and those that anybody needs stay."""

from leasehold.model.owner import Owner
from leasehold.store.db.limits import WORKERS_PRUNED_MAX
from tests.store.work import claim_one, look, submit
from tests.support.apps.deliveries import PROVIDER, post, write

DAY = 24 * 3600


def ended(store, owner) -> int:
    """Return the number of a process that was started and has ended."""
    worker = store.workers.register(owner)
    store.workers.deregister([worker])
    return worker


def test_starts_of_processes_do_not_add_up(store, clock):
    """A script that runs every two hours leaves the rows of a week, not one for each start."""
    for number in range(150):
        ended(store, Owner("here", "boot", "pid", number + 1, 1))
        clock.advance(2 * 3600)
    assert look(store, "SELECT count(*) FROM worker") == [(7 * 12 + 1,)]


def test_old_rows_of_workers_go_a_batch_at_a_time(store, clock):
    for number in range(WORKERS_PRUNED_MAX + 5):
        ended(store, Owner("here", "boot", "pid", number + 1, 1))
    clock.advance(8 * DAY)
    me = Owner("here", "boot", "pid", 1_000, 1)
    assert [(store.workers.register(me), look(store, "SELECT count(*) FROM worker"))[1] for _ in range(3)] == [
        [(6,)],
        [(2,)],
        [(3,)],
    ]


def test_a_worker_that_was_lost_elsewhere_goes_and_one_that_can_be_looked_up_or_holds_something_stays(store, clock):
    lost = store.workers.register(Owner("there", "another boot", "pid", 1, 1))
    here = store.workers.register(Owner("here", "boot", "pid", 1, 1))
    alive = store.workers.register(Owner("there", "another boot", "pid", 2, 1))
    holder, relay = (ended(store, Owner("there", "another boot", "pid", pid, 1)) for pid in (3, 4))
    submit(store, "held")
    claim_one(store, holder)
    write(store, post())
    assert len(store.deliveries.claim(PROVIDER, 60 * DAY, 1, worker=relay)) == 1
    clock.advance(8 * DAY)
    store.workers.seen(alive)
    new = store.workers.register(Owner("here", "boot", "pid", 9, 1))
    left = {worker for (worker,) in look(store, "SELECT id FROM worker")}
    assert lost not in left
    assert {here, alive, holder, relay, new} <= left


def test_an_owner_of_manual_leases_that_is_in_use_keeps_its_number(store, clock):
    owner = store.workers.register_manual("nightly")
    idle = store.workers.register_manual("once")
    for _ in range(4):
        clock.advance(5 * DAY)
        assert store.workers.register_manual("nightly") == owner
    store.workers.register(Owner("here", "boot", "pid", 9, 1))
    left = {worker for (worker,) in look(store, "SELECT id FROM worker")}
    assert owner in left
    assert idle not in left
