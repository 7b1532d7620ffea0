"""Who is notified, and when: other processes of ready work, upkeep of what is due, each attempt of its own end."""

import threading
from contextlib import closing

import pytest

from leasehold.model import effect, lease
from leasehold.model.failure import loss
from leasehold.model.failure.failure import Failure
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.requests import Reply
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.runtime.worker import Worker
from leasehold.store import open_store
from leasehold.testing import Clock
from tests.support.apps.deliveries import post
from tests.support.db import connected, rows
from tests.support.manual_leases import claim, enrol
from tests.support.processes.local_worker import plan_of, run_worker
from tests.support.wait import until

REFUSE_ON_SQLITE = """CREATE TRIGGER refused BEFORE INSERT ON outcome WHEN NEW.output = '"bad"'
BEGIN SELECT RAISE(ABORT, 'refused'); END"""
REFUSE_ON_POSTGRES = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
CREATE TRIGGER refused BEFORE INSERT ON outcome FOR EACH ROW WHEN (NEW.output = '"bad"') EXECUTE FUNCTION refuse();
"""


def test_processes_that_serve_another_queue_are_notified_of_work_that_upkeep_made_ready_there(app, url):
    """The worker that ends the first stage does not serve the queue of the second."""
    film = app.pipeline("film")
    first = film.stage(lambda: None, name="first")
    film.stage(lambda: None, name="second", after=first, queue="elsewhere")
    with (
        closing(open_store(url)) as store,
        closing(store.listener()) as listener,
        run_worker(url, film, queues=["default"]),
    ):
        job = app.submit(film, {})
        until(lambda: "elsewhere" in listener.wait(1))
    assert [task.status for task in app.store.reports.tasks(job.id)][1:] == ["DONE", "READY"]


def test_others_are_notified_of_what_a_stopping_worker_gives_back_unstarted(app, url):
    inside, over = threading.Event(), threading.Event()

    @app.job
    async def block():
        inside.set()
        over.wait(60)

    app.submit_many(block, [{}] * 3)
    with closing(open_store(url)) as store, closing(open_store(url)) as other:
        worker = Worker(store, plan_of(block, concurrency=4))
        worker.start()
        assert inside.wait(60)
        until(lambda: rows(url, "SELECT count(*) FROM lease") == [(3,)])
        stopping = threading.Thread(target=worker.stop)
        with closing(other.listener()) as listener:
            stopping.start()
            until(lambda: "default" in listener.wait(1))
        assert rows(url, "SELECT count(*), max(attempt) FROM ready") == [(2, 0)]
        over.set()
        stopping.join()


def test_a_handler_for_which_the_grace_was_too_short_is_asked_to_stop(app, url):
    """From then on nobody renews its lease."""
    inside, notified = threading.Event(), threading.Event()

    @app.job
    def hold(task):
        inside.set()
        until(lambda: task.cancelled)
        notified.set()

    hold.submit()
    with closing(open_store(url)) as store:
        worker = Worker(store, plan_of(hold))
        worker.start()
        assert inside.wait(60)
        assert worker.stop(0) == 1
        assert notified.wait(30)


def hold(app, count):
    """Lease tasks and return them begun, as a worker holds them."""
    handler = app.job(lambda: None, name="kept")
    app.submit_many(handler, [{}] * count)
    attempts = [Attempt(one, handler.handler, 0) for one in claim(app.store, enrol(app.store), "kept", most=count)]
    held = HeldAttempts(count, {"default": None})
    held.add(attempts)
    for attempt in attempts:
        assert attempt.begin()
        assert attempt.end()
    return held, attempts


def notified_by(app, *ends):
    """Have these ends written together, and return the notifications that upkeep got."""
    notified = []
    held, attempts = hold(app, len(ends))
    committer = Committer(app.store, held, EventLog(), lambda: notified.append("look"))
    for attempt, end in zip(attempts, ends, strict=True):
        committer.settle(attempt, end(attempt.lease))
    committer.write()
    return notified


NOT_YET = Failure("TRANSIENT", "not yet", retryable=True)
ENDS = {
    "an end that nobody waits for": (lambda one: lease.done(one, "1"), []),
    "a retry": (lambda one: lease.retried(one, NOT_YET, 1, "{}"), ["look"]),
    "a message": (lambda one: lease.done(one, "1", None, [post()]), ["look"]),
}


@pytest.mark.parametrize("what", ENDS)
def test_upkeep_is_notified_at_once_of_what_makes_work_for_it_and_of_nothing_else(app, what):
    end, notified = ENDS[what]
    assert notified_by(app, end) == notified


def test_upkeep_is_notified_of_an_attempt_that_came_too_late_since_its_task_may_be_ready_again(app):
    def taken_back(one):
        app.store.leases.reclaim([loss.Reclaim(one.task_id, one.fence, "owner gone")])
        return lease.done(one, "1")

    assert notified_by(app, taken_back) == ["look"]


def test_upkeep_asks_again_when_the_next_task_is_due_and_not_a_whole_pulse_later(app):
    Clock(app)
    upkeep = Upkeep(app.store, enrol(app.store), this_process(), EventLog())
    app.submit(app.job(lambda: None, name="later"), {}, delay=0.25)
    assert upkeep.poll_once() == 0.25


def test_an_end_that_the_database_refuses_fails_alone(app, url):
    """Those that were written together with it land as if it had not been there."""
    with connected(url) as connection:
        connection.execute(REFUSE_ON_SQLITE if url.startswith("sqlite") else REFUSE_ON_POSTGRES)
    outputs = ('"good"', '"bad"', '"fine"')
    assert notified_by(app, *(lambda one, output=output: lease.done(one, output) for output in outputs)) == []
    assert [(job.status, job.output) for job in app.jobs()][::-1] == [
        ("DONE", "good"),
        ("ERROR", None),
        ("DONE", "fine"),
    ]


def test_an_effect_that_is_asked_for_again_before_its_result_is_written_gets_that_result(app):
    """S4: both are in the committer's queue at once; the second is answered after the first has landed."""
    held, [attempt] = hold(app, 1)
    committer = Committer(app.store, held, EventLog(), lambda: None)
    intent = effect.intend(attempt.lease, "SEND", {}, 1)
    app.store.effects.enter([intent], [])
    recorded, again = Reply(), Reply()
    committer.commit(attempt, effect.done(intent, '"once"'), recorded)
    committer.commit(attempt, intent, again)
    while committer.has_work():
        committer.write()
    assert (recorded.wait().verdict, again.wait().verdict, again.wait().result) == ("recorded", "done", '"once"')


def test_s2_an_attempt_whose_progress_came_too_late_learns_that_its_lease_is_gone(app):
    manual = Clock(app)
    held, [attempt] = hold(app, 1)
    committer = Committer(app.store, held, EventLog(), lambda: None)
    note = lease.Progress(attempt.lease.task_id, attempt.lease.fence, "1")
    committer.report_progress(note)
    committer.write()
    assert attempt.state is not State.LOST
    manual.advance(31)
    committer.report_progress(note)
    committer.write()
    assert attempt.state is State.LOST
