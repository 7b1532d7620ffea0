"""Leases are kept alive whatever the handler does, and given up in time by a worker that cannot keep them alive."""

import asyncio
import threading
import time

import pytest

from leasehold import clock
from leasehold.errors import LeaseLost
from leasehold.model import lease as endings
from leasehold.model.failure.failure import Failure
from leasehold.model.lease import failed
from leasehold.runtime.attempt import Attempt, Interruption, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.suspects import Suspects
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.requests import run_blocking
from leasehold.runtime.execute.runner import Runner
from leasehold.runtime.maintain.heartbeat import Heartbeat
from leasehold.runtime.maintain.sweeper import Sweeper
from leasehold.runtime.observe.events import EventLog
from leasehold.testing import Clock
from tests.runtime.maintain.clocks import Moved, Ticking
from tests.support.db import check_journal, check_places, connected, names, rows
from tests.support.manual_leases import claim, enrol
from tests.support.processes.local_worker import run_worker
from tests.support.uptime import simulated_uptime
from tests.support.wait import until

LEASE = 1.5


def test_a_lease_is_kept_while_handlers_block_the_loop_and_compute_for_five_times_its_length(app, url):
    @app.job(lease=LEASE)
    async def block(task):
        threading.Event().wait(5 * LEASE)
        return task.attempt

    @app.job(lease=LEASE)
    def compute(task):
        end, number = time.monotonic() + 5 * LEASE, 0
        while time.monotonic() < end:
            number = (number * 31 + 7) % 1_000_003
        return task.attempt

    jobs = [block.submit(), compute.submit()]
    with run_worker(url, block, compute), run_worker(url, block, compute):
        assert [job.wait(timeout=120).output for job in jobs] == [1, 1]
    assert {tuple(names(url, job.id)) for job in jobs} == {("submitted", "claimed", "done")}


def lock_out(connection, url):
    """Keep everybody from writing leases, as a long transaction of another program would."""
    connection.execute("BEGIN IMMEDIATE" if url.startswith("sqlite") else "BEGIN")
    if not url.startswith("sqlite"):
        connection.execute("LOCK TABLE lease IN EXCLUSIVE MODE")


def test_s2_a_worker_that_cannot_renew_stops_acting_and_its_end_changes_nothing(app, url):
    """The async handler is cancelled, the sync one sees the flag, and neither settles the attempt that was lost."""
    stopped, notified, started = threading.Event(), threading.Event(), threading.Barrier(3)

    @app.job(lease=2)
    async def on_the_loop(task):
        if task.attempt == 1:
            started.wait(60)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                stopped.set()
        return task.attempt

    @app.job(lease=2)
    def on_a_thread(task):
        if task.attempt == 1:
            started.wait(60)
            until(lambda: task.cancelled)
            with pytest.raises(LeaseLost):
                task.progress(1)
            notified.set()
        return task.attempt

    jobs = [on_the_loop.submit(), on_a_thread.submit()]
    with run_worker(url, on_the_loop, on_a_thread):
        started.wait(60)
        with connected(url) as connection:
            lock_out(connection, url)
            assert stopped.wait(60)
            assert notified.wait(60)
            assert rows(url, "SELECT count(*) FROM outcome") == [(0,)]
            connection.execute("ROLLBACK")
        assert [job.wait(timeout=60).output for job in jobs] == [2, 2]
    check_places(url)
    check_journal(url)


def test_s2_a_worker_whose_server_went_away_stops_acting_before_the_lease_can_be_taken(outpost):
    process = outpost.workers.start(environment={"WORKSHOP_LEASE": "2"})
    job = outpost.app.submit("hold", {"name": "a"})
    until(lambda: outpost.workers.journal("start"))
    outpost.server.stop("immediate")
    until(lambda: outpost.workers.journal("cancelled", "a", 1))
    assert process.has_logged("lease_lost")
    outpost.workers.open("a")
    outpost.server.start()
    assert job.wait(timeout=120).output["attempt"] >= 2
    assert process.running


def hold(app, count, lease_ms):
    """Lease `count` tasks and return them as a worker holds them, past a third of their time."""
    held = HeldAttempts(count, {"default": None})
    worker = enrol(app.store)
    asked_at = clock.uptime() - lease_ms * clock.MILLISECOND // 2
    handler = app.job(lambda: None, name="kept", lease=lease_ms / 1000)
    app.submit_many(handler, [{}] * count)
    while len(held.all()) < count:
        found = claim(app.store, worker, "kept", most=1_000)
        held.add([Attempt(lease, handler.handler, asked_at) for lease in found])
    return held


def check_pass(app, url, count):
    """S1: one pass of the heartbeat renews every lease; none is reported lost and none expires."""
    manual = Clock(app)
    held = hold(app, count, 600_000)
    manual.advance(500)
    Heartbeat(app.store, held, EventLog()).renew()
    assert {attempt.state for attempt in held.all()} == {State.CLAIMED}
    assert all(attempt.renew_at > clock.uptime() for attempt in held.all())
    manual.advance(599)
    assert app.store.losses.expired() == []
    assert rows(url, "SELECT count(*), min(expires_at) FROM lease") == [(count, manual.now + 1_000_000)]


@pytest.mark.parametrize("count", [25_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_tens_of_thousands_of_live_leases_are_renewed_in_one_pass(app, url, count):
    check_pass(app, url, count)


def test_s2_a_renewed_lease_is_counted_from_the_moment_it_was_asked_for(app):
    """The database may have granted it at once and answered late: counted from the answer it would end too late."""
    ticking = Ticking()
    with simulated_uptime(ticking):
        held = hold(app, 2, 60_000)
        before = len(ticking.looks)
        Heartbeat(app.store, held, EventLog()).renew()
    asked_at = ticking.looks[before]
    assert [one.deadline for one in held.all()] == [asked_at + 59 * clock.SECOND] * 2
    assert [one.renew_at for one in held.all()] == [asked_at + 20 * clock.SECOND] * 2


def test_a_lease_that_went_to_another_is_lost_at_the_next_renewal(app, url):
    manual = Clock(app)
    held = hold(app, 3, 60_000)
    manual.advance(61)
    Sweeper(app.store, EventLog()).sweep_expired()
    [taken] = claim(app.store, enrol(app.store), "kept")
    Heartbeat(app.store, held, EventLog()).renew()
    assert {attempt.state for attempt in held.all()} == {State.LOST}
    assert rows(url, "SELECT task_id, fence FROM lease") == [(taken.task_id, 2)]


def test_a_lease_whose_end_waits_to_be_written_is_renewed_but_not_given_up(app, url):
    """The committer may be waiting for the database; what has ended must not expire for that."""
    manual = Clock(app)
    held = hold(app, 2, 600_000)
    waiting, gone = held.all()
    for attempt in (waiting, gone):
        assert attempt.begin()
        assert attempt.end()
    app.store.leases.settle([failed(gone.lease, Failure("PERMANENT", "landed meanwhile"))])
    manual.advance(500)
    Heartbeat(app.store, held, EventLog()).renew()
    assert {attempt.state for attempt in held.all()} == {State.ENDED}
    assert rows(url, "SELECT task_id, expires_at FROM lease") == [(waiting.lease.task_id, manual.now + 600_000_000)]


def test_a_renewal_that_was_asked_before_the_cancel_does_not_take_it_back(app):
    held = hold(app, 2, 60_000)
    first, second = held.all()
    first.interrupt(Interruption.CANCELLED)  # heard from the pulse meanwhile
    app.store.tasks.cancel(second.lease.job_id, "found by the renewal")
    Heartbeat(app.store, held, EventLog()).renew()
    assert [one.interruption for one in held.all()] == [Interruption.CANCELLED, Interruption.CANCELLED]


def test_s12_a_lease_that_was_taken_up_and_lost_is_not_released_as_if_it_had_never_begun(app):
    """A release takes the attempt back, so only what nobody here ever knew of may be released as unknown."""
    held = hold(app, 3, 60_000)
    kept, lost, ended = held.all()
    assert lost.begin()
    assert lost.lose()
    held.drop(lost)
    held.drop_all([ended])
    standing = [(one.lease.task_id, one.lease.fence) for one in (kept, lost)]
    assert held.unknown_of([*standing, (999, 1)]) == [(999, 1)]
    assert held.unknown_of([(999, 2), *standing]) == [(999, 2)]


def test_s2_an_end_that_came_too_late_is_not_taken_for_one_that_landed(app, caplog):
    """Of two ends in one group one landed: the other is reported as lost, and never released as if it had not run."""
    manual = Clock(app)
    held = hold(app, 2, 60_000)
    late, good = held.all()
    committer = Committer(app.store, held, EventLog(), lambda: None)
    manual.advance(59)
    Heartbeat(app.store, kept_alone(good), EventLog()).renew()
    manual.advance(1)
    for attempt in (late, good):
        assert attempt.begin()
        assert attempt.end()
        committer.settle(attempt, endings.done(attempt.lease, "1"))
    committer.write()
    assert (late.state, good.state) == (State.LOST, State.ENDED)
    assert held.unknown_of([(late.lease.task_id, late.lease.fence)]) == []
    notified = [record.message for record in caplog.records if record.message.startswith("lease_lost")]
    assert [f"task={late.lease.task_id} " in line and "settled too late" in line for line in notified] == [True]
    assert [job.status for job in app.jobs()][::-1] == ["RUNNING", "DONE"]


def test_s2_an_attempt_whose_time_ran_out_before_it_started_is_lost_and_never_begins(app, caplog):
    """The heartbeat may notice later than the thread that would run it."""
    ran = []
    kept = app.job(lambda: ran.append(1), name="kept", lease=60)
    kept.submit()
    moved = Moved()
    with simulated_uptime(moved):
        [lease] = claim(app.store, enrol(app.store), "kept")
        held = kept_alone(Attempt(lease, kept.handler, clock.uptime()))
        [attempt] = held.all()
        moved.advance(60)
        committer = Committer(app.store, held, EventLog(), lambda: None)
        runner = Runner(app.store, held, committer, EventLog(), Suspects({}, lambda: None))
        run_blocking(attempt.run(runner))
        runner.close()
    assert (ran, attempt.state, held.all(), held.capacity.busy) == ([], State.LOST, [], 0)
    assert [record.message.split()[0] for record in caplog.records] == ["lease_lost"]


def kept_alone(attempt):
    held = HeldAttempts(1, {})
    held.add([attempt])
    return held


def test_s2_the_same_worker_holding_attempt_two_cannot_settle_with_attempt_one(app, url):
    """Owner names never decide: both leases are of one worker."""
    manual = Clock(app)
    kind = app.job(lambda: None, name="kept", lease=60)
    job = kind.submit()
    worker = enrol(app.store)
    [first] = claim(app.store, worker, "kept")
    manual.advance(61)
    assert app.store.leases.settle([endings.done(first, '"late"')]) == []
    Sweeper(app.store, EventLog()).sweep_expired()
    [second] = claim(app.store, worker, "kept")
    assert (second.task_id, second.attempt, second.fence) == (first.task_id, 2, 2)
    assert app.store.leases.settle([endings.done(first, '"first"')]) == []
    assert app.store.leases.renew([]) == []
    assert job.status == "RUNNING"
    [landed] = app.store.leases.settle([endings.done(second, '"second"')])
    assert landed.status == "DONE"
    assert app.store.leases.settle([endings.done(second, '"again"')]) == []
    assert job.output == "second"
    assert names(url, job.id) == ["submitted", "claimed", "reclaimed", "claimed", "done"]
