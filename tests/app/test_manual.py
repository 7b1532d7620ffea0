"""`app.manual`: jobs leased by a script that runs no worker, under the same fences as everybody's."""

import subprocess
import sys
import threading
from itertools import count

import pytest

from leasehold import Leasehold, LeaseLost, Permanent, Retry
from leasehold.errors import JobNotFree, JobUnknown, KindUnknown, Misuse, OptionInvalid, StateDenied
from leasehold.testing import Clock
from tests.support.db import check_journal, check_places, connected, rows
from tests.support.wait import until

ARROWS = {"MADE": "PACKED", "PACKED": ["SENT", "LOST"]}


@pytest.fixture
def send(app):
    machine = app.machine("parcel", ARROWS, initial="MADE", failed="LOST")

    @app.job(name="send", queue="parcels", machine=machine, retry=Retry(attempts=2, delay_initial=5))
    def send(task, number=0):
        task.advance("PACKED")
        return {"sent": number}

    return send


def test_a_job_is_leased_worked_on_and_ended_manually(app, send, url):
    job = send.submit({"number": 3}, key="a")
    held = app.manual.lease(send, owner="clerk", seconds=60)
    assert (held.job_id, held.key, held.owner, held.task.payload, held.task.attempt) == (
        job.id,
        "a",
        "clerk",
        {"number": 3},
        1,
    )
    assert job.status == "RUNNING"
    held.task.advance("PACKED")
    held.task.progress(1, total=2)
    numbers = count(9)
    for _ in range(2):
        assert held.task.effect("STAMP", lambda: {"stamp": next(numbers)}, of="a") == {"stamp": 9}
    assert held.done({"sent": 3}) == "DONE"
    assert (job.status, job.state, job.output) == ("DONE", "PACKED", {"sent": 3})
    assert app.journal.verify(job.id).equal
    check_journal(url)
    check_places(url)


def test_s1_only_one_of_many_gets_a_job(app, send):
    jobs = {send.submit(key=str(number)).id for number in range(20)}
    got, start = [], threading.Barrier(4)

    def take():
        start.wait()
        while held := app.manual.lease("send", owner="crowd"):
            got.append(held.job_id)

    crowd = [threading.Thread(target=take) for _ in range(4)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert sorted(got) == sorted(jobs)


def test_jobs_come_by_priority_and_then_in_order_whatever_branch_they_stand_in(app, send):
    for key, branch, priority in (("1", "b", 0), ("2", "a", 0), ("3", None, 0), ("4", "c", 5)):
        send.submit(key=key, branch=branch, priority=priority)
    found = [app.manual.lease(send, owner="clerk").key for _ in range(4)]
    assert found == ["4", "1", "2", "3"]
    assert app.manual.lease(send, owner="clerk") is None


def test_s4_what_expired_is_not_renewed_and_goes_to_the_next_with_a_new_fence(app, send, url):
    clock = Clock(app)
    job = send.submit()
    first = app.manual.lease(send, owner="slow", seconds=10)
    clock.advance(9)
    assert first.renew(10)
    clock.advance(10)
    assert not first.renew(10)
    second = app.manual.lease(send, owner="quick", seconds=10)
    assert (second.job_id, second.task.attempt) == (job.id, 2)
    with pytest.raises(LeaseLost):
        first.done()
    with pytest.raises(LeaseLost):
        first.task.advance("PACKED")
    assert not first.release()
    assert second.done() == "DONE"
    check_journal(url)


def test_a_sweep_takes_back_what_expired_and_nothing_else(app, send):
    clock = Clock(app)
    jobs = [send.submit(key=key) for key in "ab"]
    app.manual.lease(send, owner="slow", seconds=5)
    lasting = app.manual.lease(send, owner="lasting", seconds=50)
    clock.advance(6)
    assert app.manual.sweep() == 1
    assert [job.status for job in jobs] == ["READY", "RUNNING"]
    assert app.manual.sweep() == 0
    assert lasting.renew(1)


def test_what_is_given_back_is_not_spent_and_may_have_to_wait(app, send):
    clock = Clock(app)
    job = send.submit()
    held = app.manual.lease(send, owner="clerk")
    assert held.release()
    assert not held.release()
    again = app.manual.lease(send, owner="clerk")
    assert (again.job_id, again.task.attempt) == (job.id, 1)
    assert again.release(delay=60)
    assert app.manual.lease(send, owner="clerk") is None
    with pytest.raises(JobNotFree, match="NEW"):
        app.manual.hold(job.id, owner="clerk")
    clock.advance(61)
    assert app.manual.lease(send, owner="clerk").job_id == job.id


def test_a_failed_manual_lease_is_retried_by_the_policy_of_its_kind_and_then_buried(app, send):
    clock = Clock(app)
    job = send.submit()
    assert app.manual.lease(send, owner="clerk").fail(ConnectionError("no line")) == "READY"
    assert app.manual.lease(send, owner="clerk") is None
    clock.advance(30)
    assert app.manual.lease(send, owner="clerk").fail(Permanent("torn", error_class="TORN")) == "ERROR"
    assert (job.status, job.state, job.failure["error_class"]) == ("ERROR", "LOST", "TORN")
    assert app.deadletters.list()[0].error_class == "TORN"


def test_exactly_this_job_is_leased_or_the_error_names_the_reason(app, send):
    clock = Clock(app)
    jobs = [send.submit(key=key) for key in "abc"]
    held = app.manual.hold(jobs[1].id, owner="clerk", seconds=10)
    assert held.job_id == jobs[1].id
    with pytest.raises(JobNotFree, match=f"Job {jobs[1].id} is held by clerk until"):
        app.manual.hold(jobs[1].id, owner="other")
    clock.advance(11)
    assert app.manual.hold(jobs[1].id, owner="other").done() == "DONE"
    with pytest.raises(JobNotFree, match="is DONE"):
        app.manual.hold(jobs[1].id, owner="other")
    with pytest.raises(JobUnknown):
        app.manual.hold(999, owner="other")
    app.queues.pause("parcels")
    with pytest.raises(JobNotFree, match="paused"):
        app.manual.hold(jobs[0].id, owner="other")
    assert app.manual.lease(send, owner="other") is None


def test_an_owner_takes_up_again_what_it_holds_and_nobody_elses(app, send, url):
    clock = Clock(app)
    job = send.submit()
    app.manual.lease(send, owner="clerk", seconds=10)
    other = Leasehold(url)
    machine = other.machine("parcel", ARROWS, initial="MADE", failed="LOST")
    other.job(name="send", queue="parcels", machine=machine)(lambda task, number=0: None)
    assert other.manual.resume(job.id, owner="thief") is None
    found = other.manual.resume(job.id, owner="clerk")
    assert found is not None
    assert found.renew(20)
    clock.advance(15)
    found.task.advance("PACKED")
    assert found.done() == "DONE"
    assert other.manual.resume(job.id, owner="clerk") is None
    other.close()


def test_a_limit_holds_for_hands_too(app, send):
    app.queues.limit("parcels/*", 1)
    for key in "ab":
        send.submit(key=key, branch="x")
    held = app.manual.lease(send, owner="clerk")
    assert app.manual.lease(send, owner="clerk") is None
    assert held.done() == "DONE"
    assert app.manual.lease(send, owner="clerk").key == "b"


def test_this_very_job_of_a_limited_branch_is_held_while_a_slot_is_free(app, send):
    app.queues.limit("parcels/*", 1)
    jobs = [send.submit(key=key, branch="x") for key in "abc"]
    held = app.manual.hold(jobs[1].id, owner="clerk")
    assert held.key == "b"
    with pytest.raises(JobNotFree, match="limited"):
        app.manual.hold(jobs[2].id, owner="clerk")
    held.done()
    assert app.manual.hold(jobs[2].id, owner="clerk").key == "c"


def test_a_lease_as_long_as_its_kind_grants_is_not_renewed_at_once_and_another_is(app, send, url):
    for seconds, renewed in ((30, False), (40, True)):
        send.submit()
        held = app.manual.lease(send, owner="clerk", seconds=seconds)
        assert held is not None
        ((lasts,),) = rows(url, "SELECT expires_at - started_at FROM lease")
        assert (lasts > seconds * 1_000_000, lasts >= seconds * 1_000_000) == (renewed, True)
        held.done()


def test_a_cancel_is_seen_by_the_holder_when_it_renews(app, send):
    job = send.submit()
    held = app.manual.lease(send, owner="clerk")
    assert not held.task.cancelled
    job.cancel("not wanted")
    assert held.renew(10)
    assert held.task.cancelled
    assert held.done() == "CANCELLED"


def test_a_worker_takes_what_a_hand_let_expire_and_leaves_what_it_holds(app, send, url):
    clock = Clock(app)
    jobs = [send.submit({"number": number}, key=str(number)) for number in range(3)]
    held = app.manual.lease(send, owner="clerk", seconds=100)
    app.manual.lease(send, owner="clerk", seconds=10)
    clock.advance(20)
    worker = threading.Thread(target=app.drain, kwargs={"timeout": 120})
    worker.start()
    until(lambda: [job.status for job in jobs] == ["RUNNING", "DONE", "DONE"])
    assert held.done() == "DONE"  # which the worker has waited for
    worker.join()
    check_journal(url)


def test_what_is_not_committed_is_not_leased(app, send, url):
    send.submit()
    with (
        connected(url) as connection,
        app.transaction(connection),
        pytest.raises(Misuse, match="A transaction is open"),
    ):
        app.manual.lease(send, owner="clerk")


def test_nonsense_is_refused_in_manual_leases_too(app, send):
    @app.pipeline("stages").stage
    def one():
        return None

    for what in ("nobody", "stages"):
        with pytest.raises((KindUnknown, Misuse)):
            app.manual.lease(what, owner="clerk")
    for owner in ("", "a" * 201, 7):
        with pytest.raises(Misuse):
            app.manual.lease(send, owner=owner)
    for seconds in (0, -1, 1e9, "x"):
        with pytest.raises(OptionInvalid):
            app.manual.lease(send, owner="clerk", seconds=seconds)
    send.submit()
    held = app.manual.lease(send, owner="clerk")
    with pytest.raises(StateDenied):
        held.task.advance("SENT")
    with pytest.raises(OptionInvalid):
        held.release(delay=-1)


def test_one_owner_is_one_row_and_no_worker_that_is_there(app, send, url):
    for key in "abc":
        send.submit(key=key)
        app.manual.lease(send, owner="clerk")
    assert rows(url, "SELECT host FROM worker") == [("clerk",)]
    assert rows(url, "SELECT count(*) FROM worker WHERE ended_at IS NULL") == [(0,)]


def test_l1_a_job_that_lost_its_holders_is_leased_again_and_s12_runs_out_at_last(app, url):
    manual = Clock(app)

    @app.job(retry=Retry(losses=4))
    def parcel(): ...

    job = parcel.submit()
    for number in range(1, 4):
        assert app.manual.lease(parcel, owner="clerk", seconds=60).fence == number
        manual.advance(61)
        app.manual.sweep()
        manual.advance(60)  # past the wait after a loss
    held = app.manual.hold(job.id, owner="clerk", seconds=60)
    assert held.fence == 4
    manual.advance(61)
    assert app.manual.sweep() == 1
    assert (job.status, job.failure["error_class"], job.failure["context"]["losses"]) == ("ERROR", "WORKER_CRASHED", 4)
    check_places(url)
    check_journal(url)


def test_l1_a_lease_of_a_process_is_reclaimed_at_once_when_that_process_is_gone(app, send, url):
    job, kept = send.submit(key="a"), send.submit(key="b")
    program = f"""
from leasehold import Leasehold
app = Leasehold({url!r})
@app.job(name="send", queue="parcels")
def send(task, number=0): ...
held = app.manual.hold({job.id}, owner="dies", seconds=3600, of_process=True)
print(app.manual.fence({job.id}) == held.fence == 1)
"""
    mine = app.manual.hold(kept.id, owner="lives", seconds=60, of_process=True)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, job.status) == ("True\n", "RUNNING")
    app.manual.reclaim_gone()
    assert (app.manual.fence(job.id), job.status) == (None, "READY")
    assert app.manual.fence(kept.id) == mine.fence
    assert app.manual.resume(kept.id, owner="lives") is None
    assert mine.done() == "DONE"
    assert app.manual.hold(job.id, owner="next", of_process=True).fence == 2
