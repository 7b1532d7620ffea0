"""A worker publishes what it serves, and notes now and then that it is alive."""

from leasehold import clock
from leasehold.runtime.limits import SEEN_SECONDS
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.testing import Clock
from tests.support.uptime import simulated_uptime


def test_a_worker_publishes_its_queues_with_their_caps_its_routes_and_its_concurrency(workers, app):
    process = workers.start(queues={"hold": 2, "loop": None}, concurrency=7)
    (worker,) = app.store.workers.all()
    assert (worker.owner.pid, worker.running) == (process.pid, {})
    assert worker.serving.queues == {"hold": 2, "loop": None}
    assert {"hold", "quick", "block"} <= set(worker.serving.routes)
    assert worker.serving.concurrency == 7


def test_a_quiet_worker_writes_that_it_is_alive_no_more_than_twice_a_minute(store):
    """Every pulse stays a read; this is the one write of an idle worker."""
    time = Clock(store)
    registered_at = time.now
    worker = store.workers.register(this_process())
    now = clock.uptime()
    seen = []
    with simulated_uptime(lambda: now):
        upkeep = Upkeep(store, worker, this_process(), EventLog(worker=worker))
        for _ in range(90):  # seconds
            now += clock.SECOND
            time.advance(1)
            upkeep.poll_once()
            seen.append((store.workers.all()[0].seen_at - registered_at) // clock.SECOND)
    assert sorted(set(seen)) == [0, SEEN_SECONDS, 2 * SEEN_SECONDS, 3 * SEEN_SECONDS]
