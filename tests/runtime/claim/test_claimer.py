"""Who gets the next place: queues take turns, limits hold, and nothing at the head of a queue blocks what is behind."""

import threading
from contextlib import ExitStack, closing

import pytest

from leasehold import clock
from leasehold.runtime import limits
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.rescans import Rescans
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.observe.events import EventLog
from leasehold.store import open_store
from tests.runtime.maintain.clocks import Moved, Ticking
from tests.support.db import check_journal, check_places, connected, rows
from tests.support.manual_leases import enrol
from tests.support.processes.local_worker import run_worker
from tests.support.uptime import simulated_uptime
from tests.support.wait import until


def test_l3_queues_take_turns_so_that_a_long_one_does_not_starve_a_short_one(app):
    order = []

    @app.job(queue="long")
    async def long(number: int):
        order.append("long")

    @app.job(queue="short")
    async def short(number: int):
        order.append("short")

    app.submit_many(long, [{"number": number} for number in range(200)])
    app.submit_many(short, [{"number": number} for number in range(5)])
    app.drain(concurrency=1)
    assert len(order) == 205
    assert order.index("short") < 20
    assert [name for name in order[:20] if name == "short"] == ["short"] * 5


@pytest.mark.parametrize("count", [900, pytest.param(3_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("scarce", ["limited", "capped"])
def test_l3_a_limited_or_capped_queue_is_not_starved_by_an_unlimited_one(app, scarce, count):
    order = []

    @app.job(queue="long")
    async def long(number: int):
        order.append("long")

    @app.job(queue="short")
    async def short(number: int):
        order.append("short")

    if scarce == "limited":
        app.queues.limit("short", 1)
    app.submit_many(long, [{"number": number} for number in range(count)])
    app.submit_many(short, [{"number": number} for number in range(5)])
    app.drain(concurrency=2, queues={"long": None, "short": 1 if scarce == "capped" else None})
    assert len(order) == count + 5
    assert order.index("short") < count * 5 // 6


def test_l3_a_task_nobody_here_can_run_does_not_block_those_behind_it_and_is_left(app, workers, url):
    """A kind that a worker does not know is left for one that does: never failed, never discarded."""

    @app.job
    def foreign(number: int):
        return number

    left = app.submit_many(foreign, [{"number": number} for number in range(500)], priority=9)
    workers.start(concurrency=2)
    jobs = app.submit_many("quick", [{"number": number} for number in range(20)])
    assert [job.wait(timeout=60).status for job in jobs] == ["DONE"] * 20
    assert rows(url, "SELECT count(*) FROM ready WHERE attempt = 0 AND fence = 0") == [(500,)]
    app.drain()
    assert {job.status for job in left} == {"DONE"}


def test_l3_a_row_that_commits_late_behind_the_hint_is_found(app, url):
    """Its position is lower than what has been claimed; only a look everywhere finds it."""
    ran = []

    @app.job
    async def step(number: int):
        ran.append(number)

    (late_on_sqlite if url.startswith("sqlite") else late_on_postgres)(app, url, step, ran)
    assert 0 in ran
    check_places(url)


PUT_BACK = """
INSERT INTO ready (position, task_id, queue, priority, route, attempt, fence, epoch)
VALUES (?, ?, 'default', 0, 'step', 0, 0, 1)
"""


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_l3_a_claimer_that_finds_nothing_ahead_looks_everywhere_again_in_a_while(app, url):
    step = app.job(lambda: None, name="step")
    app.submit_many(step, [{}] * 2)
    [place] = rows(url, "DELETE FROM ready WHERE position = 1 RETURNING position, task_id")
    moved = Moved()
    with closing(open_store(url)) as store, connected(url) as connection, simulated_uptime(moved):
        claimer = claimer_of(store, step, HeldAttempts(10, {}))
        assert claimer.claim(5) == 1
        connection.execute(PUT_BACK, place)
        assert claimer.claim(5) == 0
        moved.now += limits.RESCAN_US
        assert claimer.claim(5) == 1


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_l3_a_task_that_returned_to_its_old_place_is_found_at_once(app, url):
    step = app.job(lambda: None, name="step")
    app.submit_many(step, [{}] * 2)
    [place] = rows(url, "DELETE FROM ready WHERE position = 1 RETURNING position, task_id")
    with closing(open_store(url)) as store, connected(url) as connection, simulated_uptime(Moved()):
        claimer = claimer_of(store, step, HeldAttempts(10, {}))
        assert claimer.claim(5) == 1
        connection.execute(PUT_BACK, place)
        assert claimer.claim(5) == 0
        claimer.on_returned()
        assert claimer.claim(5) == 1


def test_what_returned_is_looked_for_in_a_small_share_of_the_time_only():
    rescans = Rescans()
    assert rescans.begin(0)
    rescans.request()  # while it is under way: it may have passed the place already
    rescans.end(0, 1_000)
    assert not rescans.begin(limits.RESCAN_SHARE * 1_000 - 1)
    assert rescans.next_due_in(5_000) == limits.RESCAN_SHARE * 1_000 - 5_000
    assert rescans.begin(limits.RESCAN_SHARE * 1_000)
    assert rescans.next_due_in(0) is None


def claimer_of(store, kind, held):
    """A claimer whose thread is not started."""
    committer = Committer(store, held, EventLog(), lambda: None)
    parts = (["default"], held, committer, EventLog(), lambda _: None)
    return Claimer(store, enrol(store), {kind.name: kind.handler}, *parts)


@pytest.mark.parametrize("limit", [None, 2])
def test_s2_a_lease_is_counted_from_the_moment_it_was_asked_for(app, limit):
    """The database may have granted it at once and answered late: counted from the answer it would end too late."""
    app.queues.limit("default", limit)
    step = app.job(lambda: None, name="step", lease=60)
    app.submit_many(step, [{}] * 2)
    held, ticking = HeldAttempts(10, {}), Ticking()
    claimer = claimer_of(app.store, step, held)
    if limit:
        claimer.set_limits(frozenset(["default"]))
    with simulated_uptime(ticking):
        before = len(ticking.looks) + 1  # after the look at whether to scan from the first row
        assert claimer.claim(5) == 2
    asked_at = ticking.looks[before]
    assert [one.deadline for one in held.all()] == [asked_at + 59 * clock.SECOND] * 2


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_worker_takes_no_more_of_a_queue_than_its_own_cap_allows(app):
    step = app.job(lambda: None, name="step")
    app.submit_many(step, [{}] * 5)
    held = HeldAttempts(10, {"default": 2})
    claimer = claimer_of(app.store, step, held)
    assert [claimer.claim(5), claimer.claim(5)] == [2, 0]
    held.free_slot(held.all()[0])
    assert [claimer.claim(5), claimer.claim(5)] == [1, 0]


def late_on_sqlite(app, url, step, ran):
    """Writers wait for each other there, so the row is taken out and put back where it was."""
    late = app.submit(step, {"number": 0})
    [place] = rows(url, "DELETE FROM ready RETURNING position, task_id")
    with run_worker(url, step), connected(url) as connection:
        app.submit_many(step, [{"number": number} for number in range(1, 200)])
        until(lambda: len(ran) == 199)
        connection.execute(PUT_BACK, place)
        late.wait(timeout=60)


def late_on_postgres(app, url, step, ran):
    with run_worker(url, step), connected(url) as connection:
        connection.autocommit = False
        with app.transaction(connection):
            late = app.submit(step, {"number": 0})
            outsider(app, step, 199)
            until(lambda: len(ran) == 199)
        connection.commit()
        late.wait(timeout=60)


def outsider(app, kind, count):
    """Submit from another thread, outside this thread's transaction."""
    thread = threading.Thread(
        target=app.submit_many, args=(kind, [{"number": number} for number in range(1, count + 1)])
    )
    thread.start()
    thread.join()


def test_s11_sixteen_workers_on_a_queue_limited_to_four_never_run_five_at_once(app, workers, url):
    """Four worker processes and twelve workers in this one; the handlers' own journal is the witness."""
    workers.start()
    app.queues.limit("narrow", 4)
    for _ in range(3):
        workers.start()
    seen = Counted()

    @app.job(queue="narrow", name="inside")
    def inside(number: int):
        note(workers, "in", number)
        threading.Event().wait(0.005)
        note(workers, "out", number)

    with ExitStack() as stack:
        for _ in range(12):
            stack.enter_context(run_worker(url, inside, concurrency=4))
        jobs = app.submit_many("narrow", [{"number": number} for number in range(150)])
        jobs += app.submit_many(inside, [{"number": number} for number in range(1_000, 1_150)])
        until(lambda: rows(url, "SELECT count(*) FROM outcome") == [(300,)], timeout=120)
    seen.read(workers.journal())
    assert seen.runs == 300
    assert 2 <= seen.most <= 4
    assert rows(url, "SELECT count(*) FROM slot WHERE task_id IS NOT NULL") == [(0,)]
    check_places(url)
    check_journal(url)


class Counted:
    """How many were inside at once, from lines in the order in which they were written."""

    def __init__(self):
        self.inside = self.most = self.runs = 0

    def read(self, lines):
        for word, _ in lines:
            self.inside += 1 if word == "in" else -1
            self.most = max(self.most, self.inside)
            self.runs += word == "out"


def note(workers, *words):
    with (workers.folder / "journal").open("a") as journal:
        journal.write(" ".join(str(word) for word in words) + "\n")


def test_a_limited_queue_is_refilled_as_soon_as_a_place_is_free(app, url):
    """Not once a poll: 200 tasks through one place would take minutes."""

    @app.job(queue="narrow")
    async def narrow(number: int): ...

    app.queues.limit("narrow", 1)
    app.submit_many(narrow, [{"number": number} for number in range(200)])
    app.drain(timeout=60)
    assert rows(url, "SELECT count(*) FROM outcome") == [(200,)]


def test_s11_a_limit_set_while_tasks_run_counts_them(app, url):
    gate, lock, running, most = threading.Event(), threading.Lock(), [], []

    @app.job(queue="narrow")
    def narrow(number: int):
        with lock:
            running.append(number)
            most.append(len(running))
        gate.wait(60)
        with lock:
            running.remove(number)

    app.submit_many(narrow, [{"number": number} for number in range(20)])
    with run_worker(url, narrow, concurrency=3):
        until(lambda: len(running) == 3)
        app.queues.limit("narrow", 2)
        with run_worker(url, narrow, concurrency=20):
            until(lambda: any(queue.capacity == 2 for queue in app.queues.all()))
            gate.set()
            until(lambda: rows(url, "SELECT count(*) FROM outcome") == [(20,)])
    assert max(most) == 3
    assert max(most[3:]) <= 3


def test_a_paused_queue_is_not_claimed_from_until_it_is_resumed(app, url):
    @app.job(queue="mail")
    def mail(): ...

    app.queues.pause("mail")
    job = mail.submit()
    app.drain(wait_for_due=False)
    assert job.status == "READY"
    with run_worker(url, mail):
        app.queues.resume("mail")
        assert job.wait(timeout=60).status == "DONE"
    [queue] = app.queues.all()
    assert (queue.name, queue.paused, queue.ready) == ("mail", False, 0)


def test_sync_handlers_all_run_at_once_up_to_the_concurrency(app, url):
    barrier = threading.Barrier(20)

    @app.job
    def together(number: int):
        barrier.wait(60)

    jobs = [together.submit({"number": number}) for number in range(20)]
    with run_worker(url, together, concurrency=20):
        assert [job.wait(timeout=60).status for job in jobs] == ["DONE"] * 20
