"""Effects whose record the handler does not wait for: `ahead=True`, and what waits for it all the same."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from leasehold import LeaseLost, Retry, Transient
from leasehold.errors import DatabaseUnavailable
from leasehold.model.effect import Intent, Record
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lanes import Lane
from leasehold.model.limits import GROUP_MAX, PRIORITY_MAX, PRIORITY_MIN
from leasehold.model.owner import Owner
from leasehold.runtime.commit.requests import AsyncReply, run_blocking
from leasehold.runtime.effects.effects import TaskEffects
from tests.support.db import connected, rows
from tests.support.processes import fork_app
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

AT_ONCE = Retry(attempts=3, delay_initial=0)
NOBODY = Owner("nowhere", "boot", "namespace", 1, 1)


class Bar:
    """Keeps every record of the database from being written, for as long as it is down."""

    def __init__(self, url):
        self._url = url
        self.lift = threading.Event()
        self._is_down = threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def lower(self):
        self._thread.start()
        assert self._is_down.wait(60)

    def _hold(self):
        with connected(self._url) as connection:
            connection.execute("BEGIN IMMEDIATE" if self._url.startswith("sqlite") else "BEGIN")
            if not self._url.startswith("sqlite"):
                connection.execute("LOCK TABLE effect IN SHARE MODE")
            self._is_down.set()
            assert self.lift.wait(60)
            connection.execute("COMMIT")

    def end(self):
        self.lift.set()
        if self._thread.is_alive():
            self._thread.join()


@contextmanager
def barred(url):
    bar = Bar(url)
    try:
        yield bar
    finally:
        bar.end()


def results(url):
    return [result for (result,) in rows(url, "SELECT result FROM effect ORDER BY number")]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_the_handler_goes_on_while_the_record_is_written_and_the_task_does_not_end_before_it(app, url, is_async):
    with barred(url) as bar:
        went_on = threading.Event()

        def act():
            bar.lower()
            return "done"

        def plain(task):
            found = task.effect("BUY", act, ahead=True)
            went_on.set()
            return found

        async def awaiting(task):
            found = await task.effect("BUY", act, ahead=True)
            went_on.set()
            return found

        buy = app.job(awaiting if is_async else plain, name="buy")
        job = buy.submit()
        with run_worker(url, buy):
            assert went_on.wait(60)
            assert results(url) == [None]
            bar.lift.set()
            assert job.wait(timeout=60).output == "done"
    assert results(url) == ['"done"']


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_no_act_and_no_transaction_begins_before_the_records_before_it_stand(app, url, is_async):
    seen = []

    def look(*_):
        seen.append(results(url))
        return len(seen)

    def plain(task):
        for number in range(3):
            task.effect("LOOK", look, ahead=True, number=number)
        return task.transaction("BOOK", look)

    async def awaiting(task):
        for number in range(3):
            await task.effect("LOOK", look, ahead=True, number=number)
        return await task.transaction("BOOK", look)

    job = app.job(awaiting if is_async else plain, name="look").submit()
    app.drain(timeout=60)
    assert job.output == 4
    assert [[one for one in found if one] for found in seen] == [[], ["1"], ["1", "2"], ["1", "2", "3"]]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_handler_that_fails_after_it_went_ahead_finds_its_results_on_record(app, url, is_async):
    acts = []

    def act():
        acts.append(1)
        return len(acts)

    def plain(task):
        found = task.effect("BUY", act, ahead=True)
        if task.attempt == 1:
            raise Transient
        return found

    async def awaiting(task):
        found = await task.effect("BUY", act, ahead=True)
        if task.attempt == 1:
            raise Transient
        return found

    job = app.job(awaiting if is_async else plain, name="buy", retry=AT_ONCE).submit()
    app.drain(timeout=60)
    assert (job.output, acts) == (1, [1])


@pytest.mark.parametrize("is_well", [False, True], ids=["badly", "well"])
def test_the_end_of_an_attempt_does_not_overtake_its_records_however_many_there_are(app, url, is_well):
    count = 2 * GROUP_MAX + 500  # more than a round and the one that it waits in can take
    acts = []
    with barred(url) as bar:
        ending = threading.Event()

        @app.job(retry=AT_ONCE)
        async def buy(task):
            arrived, gate = [], asyncio.Event()

            async def act():
                arrived.append(1)
                if len(arrived) == count:
                    bar.lower()
                    gate.set()
                await gate.wait()
                acts.append(1)
                return 1

            if task.attempt > 1:
                gate.set()
            effects = (task.effect("BUY", act, ahead=True, number=number) for number in range(count))
            found = await asyncio.gather(*effects)
            ending.set()
            if task.attempt == 1 and not is_well:
                raise Transient
            return sum(found)

        job = buy.submit()
        with run_worker(url, buy):
            assert ending.wait(120)
            bar.lift.set()
            assert job.wait(timeout=120).output == count
    assert len(acts) == count
    assert results(url) == ["1"] * count


def test_after_a_record_that_came_too_late_nothing_more_is_done(app, url):
    acts = []
    troubles = []

    @app.job
    async def buy(task):
        def lose():
            lease = task.lease
            app.store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
            acts.append(task.attempt)
            return 1

        if task.attempt == 1:
            await task.effect("BUY", lose, lookup=lambda: None, ahead=True)
            try:
                await task.effect("SHIP", lambda: acts.append("shipped"), ahead=True)
            except (LeaseLost, asyncio.CancelledError) as error:
                troubles.append(error)
                raise

        def act():
            acts.append(task.attempt)
            return 2

        return await task.effect("BUY", act, lookup=lambda: None, ahead=True)

    job = buy.submit()
    app.drain(timeout=60)
    assert job.output == 2
    assert acts == [1, 2]
    assert len(troubles) == 1


@pytest.mark.parametrize("how", ["sync", "async"])
def test_an_isolated_handler_goes_ahead_as_well_and_ends_after_its_records(app, url, how):
    kind = app.job({"sync": fork_app.hurry, "async": fork_app.hurry_async}[how].handler.function, isolated=True)
    job = kind.submit()
    with run_worker(url, kind):
        assert job.wait(timeout=120).output == [0, 1, 2]
    assert results(url) == ["0", "1", "2"]


def test_a_move_that_an_isolated_handler_does_not_wait_for_is_made_or_fails_its_task(app, url):
    machine = app.machine("door", {"shut": ["open"], "open": []}, initial="shut")
    kind = app.job(fork_app.rush.handler.function, isolated=True, machine=machine)
    fine, wrong = kind.submit({"state": "open"}), kind.submit({"state": "shut"})
    with run_worker(url, kind):
        assert fine.wait(timeout=120).output == "open"
        until(lambda: wrong.status.settled, timeout=120)
    assert fine.state == "open"
    assert wrong.failure is not None
    assert wrong.failure["error_class"] == "STATE_TRANSITION_DENIED"


@pytest.mark.parametrize("kind", [fork_app.leave_ahead, fork_app.leave_ahead_async], ids=["sync", "async"])
def test_a_process_that_an_isolated_handler_forked_waits_for_no_record(app, kind):
    job = app.job(kind.handler.function, name=kind.name, isolated=True).submit()
    app.drain(timeout=60)
    assert job.output == 0


def test_on_a_loop_of_its_own_a_handler_waits_for_its_records(app, url):
    @app.job
    async def buy(task):
        async def apart():
            return [await task.effect("BUY", lambda n=n: n, ahead=True, number=n) for n in range(3)]

        inside = await task.effect("BEGIN", lambda: "begun", ahead=True)
        return [inside, *await asyncio.to_thread(lambda: asyncio.run(apart()))]

    job = buy.submit()
    app.drain(timeout=60)
    assert job.output == ["begun", 0, 1, 2]
    assert None not in results(url)


class Unlucky:
    """A ledger that cannot keep results: the database is away whenever one comes."""

    def __init__(self, store):
        self._store = store

    def enter(self, item):
        if isinstance(item, Record) and item.result is not None:
            raise DatabaseUnavailable("away")
        found = self._store.effects.enter(*(([item], []) if isinstance(item, Intent) else ([], [item])))
        return found[0]

    def hand_over(self, item):
        return lambda: self.enter(item)

    def enter_async(self, item):
        reply = AsyncReply()
        try:
            reply.answer(self.enter(item))
        except DatabaseUnavailable as error:
            reply.answer(error)
        return reply


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_an_act_that_was_not_begun_for_want_of_a_record_is_not_left_in_doubt(app, url, is_async):
    """Else the next attempt would have to ask a person about something that nobody did."""
    acts = []

    @app.job
    def buy(): ...

    buy.submit()
    lane = Lane("default", PRIORITY_MIN, PRIORITY_MAX, 0)
    (lease,) = app.store.leases.claim(app.store.workers.register(NOBODY), [lane], '["buy"]', 1).leases

    def make(loop=None):
        effects = TaskEffects(lease, Unlucky(app.store), loop=loop)  # type: ignore[arg-type]
        return effects, *(effects.intend(kind, {}) for kind in ("ONE", "TWO"))

    def both():
        effects, one, two = make()
        run_blocking(effects.run(one, lambda: acts.append(1), None, idempotent=True, ahead=True))
        run_blocking(effects.run(two, lambda: acts.append(2), None, idempotent=False))

    async def both_async():
        effects, one, two = make(asyncio.get_running_loop())
        await effects.run(one, lambda: acts.append(1), None, idempotent=True, ahead=True)
        await effects.run(two, lambda: acts.append(2), None, idempotent=False)

    with pytest.raises(DatabaseUnavailable):
        asyncio.run(both_async()) if is_async else both()
    assert acts == [1]
    ((failure,),) = rows(url, "SELECT failure FROM effect WHERE kind = 'TWO'")
    assert "nothing was done" in failure
