"""How effects and attempts end together: what is left behind, cut off, asked for twice at once, or called off."""

import asyncio
import threading

import pytest

from leasehold import InDoubt
from leasehold.errors import EffectSettled
from leasehold.model.lease import Renewal
from tests.runtime.effects.test_effects import AT_ONCE, ended
from tests.support.db import connected, rows
from tests.support.manual_leases import claim, enrol
from tests.support.processes.local_worker import run_worker


@pytest.mark.parametrize("dialect", ["postgres"])
def test_l1_a_transaction_that_its_handler_gave_up_keeps_no_other_task_waiting(app, url):
    """Its own task ends after it; SQLite has one writer, so there everybody waits for it in any case."""
    release, inside = threading.Event(), threading.Event()

    def act(connection):
        inside.set()
        release.wait(120)
        return "late"

    @app.job(retry=AT_ONCE)
    async def give_up(task):
        doing = asyncio.ensure_future(task.transaction("SLOW", act))
        await asyncio.to_thread(inside.wait, 60)
        doing.cancel()
        return "gave up"

    @app.job
    def plain(number: int):
        return number

    given_up = give_up.submit()
    with run_worker(url, give_up, plain):
        assert inside.wait(60)
        others = app.submit_many(plain, [{"number": number} for number in range(20)])
        assert [job.wait(timeout=60).output for job in others] == list(range(20))
        assert given_up.status == "RUNNING"
        release.set()
        assert given_up.wait(timeout=60).output == "gave up"
    assert rows(url, "SELECT kind, result FROM effect") == [("SLOW", '"late"')]


def test_a_task_ends_after_a_transaction_that_a_thread_of_its_handler_has_open(app, url):
    release, inside = threading.Event(), threading.Event()

    def act(connection):
        inside.set()
        release.wait(120)
        return 1

    @app.job(retry=AT_ONCE)
    def leave(task):
        threading.Thread(target=task.transaction, args=("SLOW", act), daemon=True).start()
        inside.wait(60)
        threading.Timer(0.01, release.set).start()
        return "left"

    assert ended(app, leave.submit()).output == "left"
    assert rows(url, "SELECT result FROM effect") == [("1",)]


def test_a_time_out_around_an_effect_is_a_time_out_to_the_handler(app):
    """The caller recognises its cancel by its type: what is raised in its place would be taken for a failure."""
    acts = []

    @app.job(retry=AT_ONCE)
    async def hurry(task):
        cancelled = []
        for number in range(20):
            try:
                async with asyncio.timeout(0):
                    await task.effect("ACT", lambda number=number: acts.append(number), number=number)
            except TimeoutError:
                cancelled.append(number)
        here = asyncio.current_task()
        assert here is not None
        return cancelled, here.cancelling()

    job = ended(app, hurry.submit())
    assert (job.status, job.output, acts) == ("DONE", [list(range(20)), 0], [])


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_lease_that_another_transaction_holds_is_not_lost_and_keeps_no_other_from_being_renewed(app, url):
    worker = enrol(app.store)
    app.submit_many(app.job(lambda: None, name="kept"), [{}] * 2)
    locked, free = claim(app.store, worker, "kept", most=2)
    renewals = [Renewal(one.task_id, one.fence, 60_000) for one in (locked, free)]
    with connected(url) as connection:
        connection.execute("BEGIN")
        connection.execute(f"UPDATE lease SET progress = '1' WHERE task_id = {locked.task_id}")  # noqa: S608
        found = {one.task_id: one.extended for one in app.store.leases.renew(renewals)}
        connection.execute("ROLLBACK")
    assert found == {locked.task_id: False, free.task_id: True}
    assert all(one.extended for one in app.store.leases.renew(renewals))


def test_the_same_key_asked_many_times_at_once_is_done_once_and_answers_all(app):
    acts = []

    async def act():
        acts.append(1)
        return await asyncio.to_thread(lambda: 7)

    @app.job
    async def ask(task):
        return await asyncio.gather(*(task.effect("FETCH", act, url="u") for _ in range(40)))

    assert ended(app, ask.submit()).output == [7] * 40
    assert acts == [1]


def test_the_same_transaction_asked_for_twice_at_once_commits_once_and_answers_both(app, url):
    acts = []

    def act(connection):
        acts.append(1)
        return 5

    @app.job
    async def ask(task):
        return await asyncio.gather(*(task.transaction("BOOK", act) for _ in range(3)))

    assert ended(app, ask.submit()).output == [5, 5, 5]
    assert acts == [1]


@pytest.mark.parametrize("how", ["effect", "transaction"])
def test_a_message_is_not_delivered_from_inside_an_act_where_it_would_be_lost(app, url, how):
    """The act of an effect that is on record does not run again; its message would be missing."""

    @app.job
    def write(task):
        act = lambda *_: task.deliver("s", "ada@example.org", 1, {"text": "a"})  # noqa: E731
        return getattr(task, how)("WRITE", act)

    assert ended(app, write.submit()).failure["error_class"] == "MISUSE"
    assert rows(url, "SELECT count(*) FROM delivery") == [(0,)]


def test_an_effect_that_was_cut_off_before_its_act_is_recorded_as_not_done(app, url):
    """S14: nothing was done, and that is certain, so no person has to answer."""
    acts = []

    @app.job
    async def hurry(task):
        doing = asyncio.ensure_future(task.effect("BUY", lambda: acts.append(1)))
        await asyncio.sleep(0)  # it has asked for its intent now, and waits for the answer
        doing.cancel()
        await asyncio.wait([doing])
        assert doing.cancelled()
        return "gave up"

    assert ended(app, hurry.submit()).output == "gave up"
    assert acts == []
    ((failure,),) = rows(url, "SELECT failure FROM effect")
    assert "CUT_OFF" in failure


def test_a_result_that_is_being_recorded_when_the_handler_is_cut_off_stands(app, url):
    @app.job
    async def hurry(task):
        doing = asyncio.ensure_future(task.effect("BUY", lambda: cut() or "bought"))

        def cut():
            asyncio.get_running_loop().call_soon(doing.cancel)

        await asyncio.wait([doing])
        return doing.cancelled()

    assert ended(app, hurry.submit()).output is True
    assert rows(url, "SELECT result, failure FROM effect") == [('"bought"', None)]


def test_an_effect_in_doubt_of_a_job_that_was_called_off_is_answered_without_a_letter(app, url):
    """It has no letter and is not revived, but somebody must be able to close it."""

    @app.job
    def doubtful(task):
        def act():
            app.cancel(task.lease.job_id)
            raise InDoubt

        return task.effect("BUY", act)

    job = ended(app, doubtful.submit())
    assert job.status == "CANCELLED"
    assert app.deadletters.list() == []
    ((key,),) = rows(url, "SELECT key FROM effect WHERE result IS NULL AND failure IS NULL")
    app.deadletters.answer_cancelled(job.id, key[:12], happened=True, result={"id": 7})
    assert rows(url, "SELECT result FROM effect") == [('{"id":7}',)]
    assert rows(url, "SELECT action, noun FROM audit") == [("answer", "job")]


def test_an_effect_of_a_job_that_was_not_called_off_is_not_answered_without_its_letter(app, url):
    @app.job
    def doubtful(task):
        def act():
            raise InDoubt

        return task.effect("BUY", act)

    job = ended(app, doubtful.submit())
    ((key,),) = rows(url, "SELECT key FROM effect")
    with pytest.raises(EffectSettled, match="was not cancelled"):
        app.deadletters.answer_cancelled(job.id, key, happened=False)
    assert rows(url, "SELECT failure FROM effect") == [(None,)]
