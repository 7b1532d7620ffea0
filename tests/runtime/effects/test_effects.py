"""Effects as handlers do them: sync, async and isolated, through the committer."""

import asyncio
import contextlib
import threading

import pytest

from leasehold import InDoubt, LeaseholdError, LeaseLost, Permanent, Retry, Transient
from leasehold.errors import EffectTooLarge, NameInvalid, PayloadInvalid
from leasehold.model.failure.loss import Reclaim
from leasehold.testing import crash_at
from tests.support.db import rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

AT_ONCE = Retry(attempts=3, delay_initial=0)


class Shop:
    """The outside world: counts what it is asked to do."""

    def __init__(self, result=None) -> None:
        self.acts = 0
        self._result = result

    def sell(self):
        self.acts += 1
        return self.acts if self._result is None else self._result


def ended(app, job, timeout=60):
    app.drain(timeout=timeout)
    return job


def test_an_act_runs_once_and_later_attempts_get_its_result(app):
    shop = Shop({"id": 7})

    @app.job(retry=AT_ONCE)
    def buy(task):
        bought = task.effect("BUY", shop.sell, item="x")
        if task.attempt == 1:
            raise Transient
        return bought

    assert ended(app, buy.submit()).output == {"id": 7}
    assert shop.acts == 1


def test_an_async_handler_awaits_its_effects_and_may_have_async_acts_and_look_ups(app):
    async def act(key: str):
        await asyncio.to_thread(len, key)
        return [key]

    @app.job(retry=AT_ONCE)
    async def buy(task):
        first = await task.effect("BUY", act, item=1)
        second = await task.effect("BUY", lambda: "plain", item=2)
        both = await asyncio.gather(*(task.effect("BUY", act, item=number) for number in (3, 4)))
        return [len(first[0]), second, len(both)]

    job = buy.submit()
    with crash_at(app, "after_act"):
        assert ended(app, job).failure is not None
    again = buy.submit()
    assert ended(app, again).output == [64, "plain", 2]


def test_the_same_key_twice_in_one_attempt_returns_the_recorded_result(app):
    shop = Shop()

    @app.job
    def buy(task):
        return [task.effect("BUY", shop.sell, item="x") for _ in range(3)]

    assert ended(app, buy.submit()).output == [1, 1, 1]


def test_the_same_effect_asked_for_twice_at_once_is_done_once(app):
    shop = Shop()

    @app.job
    async def buy(task):
        return await asyncio.gather(*(task.effect("BUY", lambda: asyncio.to_thread(shop.sell)) for _ in range(3)))

    assert ended(app, buy.submit()).output == [1, 1, 1]
    assert shop.acts == 1


def test_an_effect_asked_for_inside_itself_is_refused_and_does_not_wait_for_itself(app):
    @app.job
    def buy(task):
        return task.effect("BUY", lambda: task.effect("BUY", lambda: 1))

    assert ended(app, buy.submit()).failure["error_class"] == "EFFECT_BUSY"


def test_an_act_that_was_cut_off_is_not_repeated_blindly_by_the_same_attempt(app):
    acts = []

    @app.job(retry=AT_ONCE)
    async def buy(task):
        began = asyncio.Event()

        async def act():
            acts.append(1)
            began.set()
            await asyncio.Event().wait()

        doing = asyncio.ensure_future(task.effect("BUY", act))
        await began.wait()
        doing.cancel()
        await asyncio.wait([doing])
        return await task.effect("BUY", act)

    job = ended(app, buy.submit())
    assert (job.failure["error_class"], acts) == ("EFFECT_IN_DOUBT", [1])


@pytest.mark.parametrize("times", [1, 2])
def test_an_effect_in_doubt_that_a_handler_swallows_still_waits_for_a_person(app, times):
    def act():
        raise InDoubt

    @app.job(retry=AT_ONCE)
    def buy(task):
        for _ in range(times):
            with contextlib.suppress(InDoubt, LeaseholdError):
                task.effect("BUY", act)
        return "all well"

    assert ended(app, buy.submit()).failure["error_class"] == "EFFECT_IN_DOUBT"
    assert app.deadletters.list()[0].error_class == "EFFECT_IN_DOUBT"


def test_an_exception_that_raises_when_it_is_looked_at_still_ends_its_attempt(app):
    class Hostile(Exception):
        def __str__(self):
            raise SystemExit

    @app.job(retry=Retry(attempts=1))
    def buy(task):
        raise Hostile

    assert ended(app, buy.submit()).status == "ERROR"


def test_an_effect_that_failed_is_done_again_by_the_next_attempt(app, url):
    acts = []

    def act():
        acts.append(1)
        if len(acts) == 1:
            raise Transient("not now, password=hunter2secret")
        return "bought"

    @app.job(retry=AT_ONCE)
    def buy(task):
        return task.effect("BUY", act)

    assert ended(app, buy.submit()).output == "bought"
    assert len(acts) == 2
    assert "hunter2secret" not in str(rows(url, "SELECT * FROM event"))


def test_no_transaction_is_open_while_an_act_runs(app, url):
    seen = []

    @app.job
    def buy(task):
        return task.effect("BUY", lambda: seen.extend(rows(url, "SELECT kind, result FROM effect")))

    ended(app, buy.submit())
    assert seen == [("BUY", None)]


def test_an_act_that_does_not_know_its_result_leaves_its_effect_in_doubt(app):
    acts = []

    def act():
        acts.append(1)
        raise InDoubt("the line broke after the last byte")

    @app.job(retry=AT_ONCE)
    def buy(task):
        return task.effect("BUY", act)

    job = ended(app, buy.submit())
    assert job.failure["error_class"] == "EFFECT_IN_DOUBT"
    assert acts == [1]


def test_a_result_too_large_is_refused_with_the_result_in_hand_and_the_act_not_repeated(app):
    shop, caught = Shop("x" * 2_000_000), []

    @app.job(retry=AT_ONCE)
    def buy(task):
        try:
            return task.effect("BUY", shop.sell)
        except EffectTooLarge as error:
            caught.append(error.result)
            raise

    job = ended(app, buy.submit())
    assert (job.status, job.failure["error_class"]) == ("ERROR", "EFFECT_TOO_LARGE")
    assert (shop.acts, caught) == (1, ["x" * 2_000_000])


@pytest.mark.parametrize(("kind", "fields", "refusal"), [("", {}, NameInvalid), ("A B", {}, NameInvalid)])
def test_an_effect_with_a_bad_name_is_refused_before_it_is_done(app, kind, fields, refusal):
    acts, raised = [], []

    @app.job
    def buy(task):
        try:
            task.effect(kind, lambda: acts.append(1), **fields)
        except refusal as error:
            raised.append(error.code)

    ended(app, buy.submit())
    assert (acts, raised) == ([], [refusal.code])


def test_fields_that_are_not_json_are_refused_before_the_act(app):
    acts, raised = [], []

    @app.job
    def buy(task):
        try:
            task.effect("BUY", lambda: acts.append(1), item=object())
        except PayloadInvalid as error:
            raised.append(error.code)

    ended(app, buy.submit())
    assert (acts, raised) == ([], ["PAYLOAD_INVALID"])


def test_s2_an_effect_of_a_zombie_is_refused(app, url):
    gate, acts, fate = threading.Event(), [], []

    @app.job(retry=AT_ONCE)
    def buy(task):
        if task.attempt == 1:
            gate.wait(60)
            try:
                task.effect("BUY", lambda: acts.append("zombie"))
            except LeaseLost as error:
                fate.append(error.code)
                raise
        return task.effect("BUY", lambda: acts.append("second"))

    with run_worker(url, buy):
        job = buy.submit()
        until(lambda: rows(url, "SELECT fence FROM lease") == [(1,)])
        app.store.leases.reclaim([Reclaim(job.id, 1, "owner gone")])
        assert job.wait(timeout=60).status == "DONE"
        gate.set()
        until(lambda: fate or len(acts) > 1)
    assert (acts, fate) == (["second"], ["LEASE_LOST"])


def test_effects_of_many_tasks_share_commits(app, url):
    @app.job
    async def buy(task):
        await task.effect("BUY", lambda: 1)

    app.submit_many(buy, [{} for _ in range(300)])
    app.drain(timeout=60)
    ((effects, commits),) = rows(url, "SELECT count(*), count(DISTINCT recorded_at) FROM effect WHERE result = '1'")
    assert effects == 300
    assert commits < 300


def test_a_permanent_failure_of_an_act_ends_the_task_and_is_on_record(app, url):
    @app.job(retry=AT_ONCE)
    def buy(task):
        def act():
            raise Permanent("no such item")

        return task.effect("BUY", act)

    assert ended(app, buy.submit()).failure["error_class"] == "PERMANENT"
    ((failure,),) = rows(url, "SELECT failure FROM effect")
    assert "no such item" in failure


def test_an_isolated_handlers_effects_are_recorded_from_the_child(app, workers, url):
    workers.start()
    job = app.submit("apart", {"act": "buy"})
    assert job.wait(timeout=60).output == {"bought": 1}
    assert workers.journal("bought") == [["bought", "1"]]
    assert rows(url, "SELECT kind, result FROM effect") == [("BUY", '{"bought":1}')]
    ((detail,),) = rows(url, "SELECT detail FROM event WHERE name = 'done'")
    ((key,),) = rows(url, "SELECT key FROM effect")
    assert f'"effects":["{key[:16]}"]' in detail


def test_an_isolated_handlers_effects_are_committed_by_its_worker(app, workers, url):
    """Those of other attempts share the commit; the child has no connection to the database."""
    workers.start()
    job = app.submit("apart", {"act": "buy_many"}).wait(timeout=60)
    assert job.output == {"bought": list(range(20)), "opened": 0}
    assert rows(url, "SELECT count(*) FROM effect WHERE result IS NOT NULL") == [(20,)]


def test_an_isolated_handlers_transaction_has_a_connection_of_its_own(app, workers, url):
    workers.start()
    assert app.submit("apart", {"act": "book"}).wait(timeout=60).output == 42
    assert rows(url, "SELECT kind, result FROM effect") == [("BOOK", "42")]


def test_an_act_gets_the_key_however_it_asks_for_it(app):
    @app.job
    def buy(task):
        by_place = task.effect("A", len)
        by_name = task.effect("B", lambda *, key: len(key))
        default = task.effect("C", lambda item="x": item)
        return [by_place, by_name, default]

    assert ended(app, buy.submit()).output == [64, 64, "x"]


def test_an_async_act_in_a_sync_handler_is_refused_before_anything_is_intended(app, url):
    async def act():
        return 1

    @app.job
    def buy(task):
        return task.effect("BUY", act)

    assert ended(app, buy.submit()).failure["error_class"] == "MISUSE"
    assert rows(url, "SELECT count(*) FROM effect") == [(0,)]


def test_an_isolated_handler_cannot_swallow_a_doubt_either(app, workers):
    workers.start()
    job = app.submit("apart", {"act": "shrug"}).wait(timeout=60)
    assert job.failure is not None
    assert job.failure["error_class"] == "EFFECT_IN_DOUBT"
