"""Settle: each guarded by its own lease, each answered by itself, nothing ever settled twice."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold import clock as time
from leasehold.model.delivery import OutgoingMessage
from leasehold.model.failure.failure import Failure
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import Settlement, cancelled, done, failed
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import (
    WAITS,
    at_once,
    claim,
    claim_one,
    fail,
    finish,
    look,
    register,
    retry,
    status,
    submit,
    take_time,
)
from tests.support.wait import until


def reclaim_all(store):
    return store.leases.reclaim(store.losses.expired())


def test_a_settled_task_has_its_output_and_its_end(store, worker, clock):
    (task,) = submit(store, "k")
    (landed,) = finish(store, [claim_one(store, worker)], {"n": 1})
    assert (landed.task_id, landed.fence, landed.status, landed.has_dependents) == (task, 1, "DONE", False)
    row = store.reports.job(task)
    assert (row.status, row.output, row.failure, row.finished_at) == ("DONE", '{"n":1}', None, clock.now)


def test_an_attempt_that_failed_for_good_has_its_failure(store, worker):
    (task,) = submit(store, "k")
    assert [one.status for one in fail(store, [claim_one(store, worker)])] == ["ERROR"]
    assert work.failure(store, task)["error_class"] == "PERMANENT"


def test_s2_a_worker_that_slept_past_its_lease_cannot_settle_the_next_attempt(store, worker, clock):
    (task,) = submit(store, "k")
    first = claim_one(store, worker)
    clock.advance(31)
    reclaim_all(store)
    second = claim_one(store, register(store, 2))
    assert finish(store, [first], "late") == []
    assert status(store, task) == "RUNNING"
    assert [one.fence for one in finish(store, [second], "good")] == [2]
    assert store.reports.job(task).output == '"good"'


def test_s2_the_same_worker_holding_attempt_two_cannot_settle_with_attempt_one(store, worker, clock):
    (task,) = submit(store, "k")
    first = claim_one(store, worker)
    clock.advance(31)
    reclaim_all(store)
    second = claim_one(store, worker)
    assert (second.fence, second.attempt) == (2, 2)
    assert finish(store, [first], "old") == []
    assert fail(store, [first]) == []
    assert store.leases.settle([retry(first, 1)]) == []
    assert len(finish(store, [second], "new")) == 1
    assert store.reports.job(task).output == '"new"'


def test_s2_an_expired_lease_cannot_settle_even_if_nobody_took_it_back(store, worker, clock):
    (task,) = submit(store, "k", lease_ms=1000)
    lease = claim_one(store, worker)
    clock.advance(0.999)
    assert store.leases.renew([]) == []
    clock.advance(0.001)
    assert finish(store, [lease]) == []
    assert status(store, task) == "RUNNING"


def test_s5_what_is_settled_stays_as_it_is(store, worker):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    finish(store, [lease], "first")
    before = check_everything(store)
    assert finish(store, [lease], "second") == []
    assert fail(store, [lease]) == []
    assert store.leases.reclaim([Reclaim(task, 1, "owner gone")]) == []
    assert store.tasks.cancel(task, work.REASON).ended == 0
    check_everything(store, before)


def test_each_of_a_batch_is_answered_by_itself(store, worker, clock):
    submit(store, *"abcd")
    good, stale, lost, failing = claim(store, worker)
    finish(store, [stale])
    answers = store.leases.settle(
        [
            done(good, "1"),
            done(stale, "2"),
            Settlement(lost.task_id, lost.fence + 1, "DONE"),
            failed(failing, work.BROKEN),
            Settlement(999_999, 1, "DONE"),
        ]
    )
    assert {(one.task_id, one.status) for one in answers} == {(good.task_id, "DONE"), (failing.task_id, "ERROR")}
    assert status(store, lost.task_id) == "RUNNING"


def test_the_same_settlement_twice_in_one_batch_lands_once(store, worker):
    submit(store, "k")
    lease = claim_one(store, worker)
    assert len(finish(store, [lease, lease])) == 1
    check_everything(store)


def test_an_empty_batch_is_no_trouble(store):
    assert store.leases.settle([]) == []
    assert store.leases.reclaim([]) == []
    assert store.leases.record_progress([]) == set()


def test_the_same_settlement_from_many_threads_lands_once(store, worker):
    """S5: of many settlements of one lease, one is the outcome."""
    submit(store, "k")
    lease = claim_one(store, worker)
    landed = at_once(8, lambda number: finish(store, [lease], number))
    assert sorted(len(one) for one in landed) == [0] * 7 + [1]


def test_a_retry_waits_for_its_time_by_the_database_clock(store, worker, clock):
    (task,) = submit(store, "k")
    (landed,) = store.leases.settle([retry(claim_one(store, worker), 10)])
    assert landed.status == "RETRY"
    assert look(store, "SELECT due_at, attempt, fence FROM waiting") == [(clock.now + 10_000_000, 1, 1)]
    assert status(store, task) == "NEW"
    clock.advance(9.999)
    assert store.stages.make_due().count == 0
    clock.advance(0.001)
    assert store.stages.make_due().queues == {"default"}
    again = claim_one(store, worker)
    assert (again.attempt, again.fence) == (2, 2)


def test_due_tasks_become_ready_in_the_order_of_their_times(store, worker, clock):
    for key, delay in (("c", 3), ("a", 1), ("b", 2)):
        submit(store, key, delay=delay)
    clock.advance(5)
    store.stages.make_due()
    assert [lease.key for lease in claim(store, worker)] == ["a", "b", "c"]


def test_the_journal_holds_every_attempt_with_its_worker(store, worker, clock):
    """S6: each change of place has its line, with fence, attempt and worker."""
    (task,) = submit(store, "k")
    store.leases.settle([retry(claim_one(store, worker), 1)])
    clock.advance(1)
    store.stages.make_due()
    other = register(store, 2)
    finish(store, [claim_one(store, other)])
    lines = [(one.name, one.fence, one.attempt, one.worker) for one in store.reports.events(task)]
    assert lines == [
        ("submitted", None, None, None),
        ("claimed", 1, 1, worker),
        ("retried", 1, 1, worker),
        ("advanced", None, None, None),
        ("claimed", 2, 2, other),
        ("done", 2, 2, other),
    ]
    assert store.reports.events(task)[-1].at == clock.now


@pytest.mark.parametrize("ending", ["DONE", "ERROR", "RETRY"])
def test_a_task_asked_to_stop_ends_cancelled_whatever_came_of_it(store, worker, ending):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    assert store.tasks.cancel(task, work.REASON) == type(store.tasks.cancel(task, work.REASON))(0, 1)
    (landed,) = store.leases.settle([Settlement(task, lease.fence, ending, output="1", failure=work.BROKEN.text())])
    assert landed.status == "CANCELLED"
    assert status(store, task) == "CANCELLED"
    assert work.failure(store, task) == json.loads(work.REASON)


def test_a_handler_that_stopped_itself_ends_cancelled(store, worker):
    (task,) = submit(store, "k")
    store.leases.settle([cancelled(claim_one(store, worker), Failure("CANCELLED", "enough"))])
    assert work.failure(store, task)["message"] == "enough"


def test_a_large_batch_lands_as_a_whole(store, worker):
    submit(store, *[str(number) for number in range(1000)])
    leases = claim(store, worker, 1000)
    assert len(finish(store, leases[::-1], "x" * 1000)) == 1000
    assert look(store, "SELECT count(*) FROM outcome WHERE status = 'DONE'") == [(1000,)]


def test_a_far_future_and_a_zero_delay_are_kept(store, worker, clock):
    submit(store, "a", "b")
    first, second = claim(store, worker)
    store.leases.settle([retry(first, 0), retry(second, 366 * 24 * 3600.0)])
    assert store.stages.make_due().count == 1
    assert look(store, "SELECT due_at FROM waiting") == [(clock.now + 366 * 24 * 3600 * time.SECOND,)]


@pytest.mark.parametrize("dialect", ["postgres"])
@pytest.mark.parametrize(("text", "end"), [("the same", "DONE"), ("another thing", "ERROR")])
def test_a_message_committed_while_another_for_the_same_recipient_is_written_is_not_dropped(store, worker, text, end):
    """S13: the second waits for the first, then finds it; SQLite has one writer, so there the first stands before."""
    submit(store, "a", "b")
    first, second = claim(store, worker)

    def settle(lease, text):
        post = OutgoingMessage("report", "ada@example.org", 1, json.dumps({"text": text}), "mail")
        return store.leases.settle([done(lease, "null", None, [post])])

    with ThreadPoolExecutor(1) as thread:

        def hold(session):
            take_time(session)
            with store.database.joined(session):
                settle(first, "the same")
            waiting = thread.submit(settle, second, text)
            until(lambda: look(store, WAITS))
            return waiting

        assert [one.status for one in store.database.transact(hold).result()] == [end]
    assert look(store, "SELECT task_id FROM delivery") == [(first.task_id,)]
    assert look(store, "SELECT error_class FROM dead_letter") == [("DELIVERY_CONFLICT",)] * (end == "ERROR")
