"""Branches of a queue: a limit and a rate for each, over all workers, and nobody waits behind a branch that is full."""

import threading
from collections import Counter
from contextlib import closing
from itertools import pairwise

import pytest

from leasehold.errors import NameInvalid, OptionInvalid
from leasehold.model import lease as endings
from leasehold.model.lanes import Lane
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.observe.events import EventLog
from leasehold.store import open_store
from leasehold.testing import Clock, drain
from tests.support.db import check_journal, check_places, rows
from tests.support.manual_leases import claim, enrol
from tests.support.processes.local_worker import plan_of, run_worker
from tests.support.wait import until

ROUTES = '["fetch"]'


class Floor:
    """Counts who is inside, by host, and the most there ever were."""

    def __init__(self):
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def enter(self, host):
        with self._lock:
            self._inside[host] += 1
            self.most[host] = max(self.most[host], self._inside[host])

    def leave(self, host):
        with self._lock:
            self._inside[host] -= 1


def fetching(app, floor=None):
    @app.job(queue="web")
    def fetch(host: str, number: int = 0):
        if floor is not None:
            floor.enter(host)
            threading.Event().wait(0.002)
            floor.leave(host)
        return number

    return fetch


def submit(app, kind, hosts):
    return app.submit_many(kind, [{"host": host, "number": n} for n, host in enumerate(hosts)], branches=hosts)


def test_a_worker_serves_every_branch_of_its_queues(app, url):
    kind = fetching(app)
    jobs = submit(app, kind, ["a.example", "b.example:8443", "[2001:db8::1]", "a.example"])
    jobs += [kind.submit({"host": "none"}), kind.submit({"host": "c"}, branch="c", key="c")]
    app.drain(timeout=60)
    assert {job.status for job in jobs} == {"DONE"}
    queues = rows(url, "SELECT queue FROM task ORDER BY id")
    assert queues == [
        ("web/a.example",),
        ("web/b.example:8443",),
        ("web/[2001:db8::1]",),
        ("web/a.example",),
        ("web",),
        ("web/c",),
    ]
    assert all(app.journal.verify(job.id).equal for job in jobs)
    check_places(url)
    check_journal(url)


def test_s11_each_branch_has_the_limit_for_itself_over_several_workers(app, url):
    floor = Floor()
    kind = fetching(app, floor)
    app.queues.limit("web/*", 2)
    app.queues.limit("web/slow", 1)
    jobs = submit(app, kind, ["slow", "quick", "other"] * 30)
    with run_worker(url, kind), run_worker(url, kind):
        until(lambda: all(job.status == "DONE" for job in jobs))
    assert floor.most["slow"] == 1
    assert floor.most["quick"] <= 2
    assert floor.most["other"] <= 2
    assert rows(url, "SELECT count(*) FROM slot WHERE task_id IS NOT NULL") == [(0,)]


def test_l3_a_branch_that_is_full_keeps_no_other_waiting(app, url):
    release = threading.Event()

    @app.job(queue="web")
    def fetch(host: str, number: int = 0):
        if host == "stuck":
            release.wait(60)
        return number

    app.queues.limit("web/*", 1)
    stuck = submit(app, fetch, ["stuck"] * 20)
    others = submit(app, fetch, [f"host{number % 7}" for number in range(50)])
    with run_worker(url, fetch):
        try:
            until(lambda: all(job.status == "DONE" for job in others))
            assert Counter(job.status for job in stuck) == {"RUNNING": 1, "READY": 19}
        finally:
            release.set()
        until(lambda: all(job.status == "DONE" for job in stuck))


def test_a_limit_set_while_tasks_run_counts_them(app):
    kind = fetching(app)
    submit(app, kind, ["a"] * 5 + ["b"] * 5)
    worker = enrol(app.store)
    lanes = [Lane(f"web/{name}", -5, 5, 0) for name in "ab"]
    assert len(app.store.leases.claim(worker, lanes[:1], ROUTES, 3).leases) == 3
    app.queues.limit("web/*", 3)
    assert app.store.leases.claim(worker, lanes, ROUTES, 9).leases == []
    assert app.store.leases.claim_limited(worker, "web/a", ROUTES, 9).leases == []
    assert len(app.store.leases.claim_limited(worker, "web/b", ROUTES, 9).leases) == 3
    app.queues.limit("web/*", 4)
    assert len(app.store.leases.claim_limited(worker, "web/a", ROUTES, 9).leases) == 1
    app.queues.limit("web/*", None)
    assert len(app.store.leases.claim(worker, lanes, ROUTES, 9).leases) == 3


def test_a_rate_lets_so_many_start_in_a_second_and_returns_when_the_next_may(app):
    clock = Clock(app)
    kind = fetching(app)
    app.queues.limit("web/*", 2, rate=4)
    submit(app, kind, ["a"] * 50 + ["b"] * 2)
    worker = enrol(app.store)
    started = []
    for tick in range(40):
        found = app.store.leases.claim_limited(worker, "web/a", ROUTES, 9)
        started += [tick] * len(found.leases)
        finish(app, found.leases)
        again = app.store.leases.claim_limited(worker, "web/a", ROUTES, 9)
        assert again.leases == []
        assert 0 < again.wait_us <= 500_000
        clock.advance(0.1)
    assert Counter(started) == dict.fromkeys(range(0, 40, 5), 2)
    assert len(app.store.leases.claim_limited(worker, "web/b", ROUTES, 9).leases) == 2


def test_a_raised_limit_counts_at_once_though_slots_rest(app):
    Clock(app)
    kind = fetching(app)
    app.queues.limit("web/*", 1, rate=1)
    submit(app, kind, ["a"] * 9)
    worker = enrol(app.store)
    finish(app, app.store.leases.claim_limited(worker, "web/a", ROUTES, 9).leases)
    assert app.store.leases.claim_limited(worker, "web/a", ROUTES, 9).leases == []
    app.queues.limit("web/*", 3, rate=1)
    assert len(app.store.leases.claim_limited(worker, "web/a", ROUTES, 9).leases) == 2


def finish(app, leases):
    app.store.leases.settle([endings.done(lease, "null", None, None) for lease in leases])


def test_a_claimer_looks_again_when_a_slot_has_rested_though_nobody_wakes_it(app, url):
    kind = fetching(app)
    app.queues.limit("web/*", 1, rate=50)
    jobs = submit(app, kind, ["a"] * 10)
    with closing(open_store(url)) as store:
        holdings = HeldAttempts(5, {})
        committer = Committer(store, holdings, EventLog(), lambda: None)

        def run(attempts):
            for attempt in attempts:
                attempt.begin()
                attempt.end()
                holdings.free_slot(attempt)
                committer.settle(attempt, attempt.succeed(None))

        handlers = plan_of(kind).handlers
        claimer = Claimer(store, enrol(store), handlers, ["web"], holdings, committer, EventLog(), run)
        claimer.set_limits(frozenset({"web/*"}), branched=True)
        committer.start()
        claimer.start()
        until(lambda: all(job.status == "DONE" for job in jobs))
        claimer.close()
        committer.close(60)
    times = [at for (at,) in rows(url, "SELECT at FROM event WHERE name = 'claimed' ORDER BY at")]
    assert min(later - earlier for earlier, later in pairwise(times)) >= 20_000


def test_a_paused_queue_pauses_its_branches_and_so_does_its_family(app):
    kind = fetching(app)
    (job,) = submit(app, kind, ["a"])
    for name in ("web", "web/*", "web/a"):
        app.queues.pause(name)
        app.drain(timeout=60)
        assert claim(app.store, enrol(app.store), kind.name, queue="web/a") == []
        assert job.status == "READY"
        app.queues.resume(name)
    app.drain(timeout=60)
    assert job.status == "DONE"


def test_what_comes_back_comes_back_to_its_branch(app, url):
    @app.job(queue="web")
    def fetch(task, host: str):
        if task.attempt < 3:
            raise OSError("again")

    job = fetch.submit({"host": "a"}, branch="a", delay=0.01)
    app.queues.limit("web/*", 1)
    drain(app, Clock(app))
    assert job.status == "DONE"
    assert rows(url, "SELECT DISTINCT queue FROM task") == [("web/a",)]


def test_there_may_be_more_branches_than_are_listed_at_once(app):
    kind = fetching(app)
    jobs = submit(app, kind, [f"host-{number}" for number in range(1_200)])
    app.drain(timeout=120)
    assert {job.status for job in jobs} == {"DONE"}


@pytest.mark.parametrize("branch", ["", "a/b", "a b", "*", "ä", "x" * 201, 7])
def test_a_branch_that_cannot_be_named_so_is_refused(app, branch):
    kind = fetching(app)
    with pytest.raises(NameInvalid):
        kind.submit({"host": "a"}, branch=branch)
    assert app.jobs() == []


def test_what_makes_no_sense_together_is_refused(app):
    kind = fetching(app)
    film = app.pipeline("film")
    film.stage(name="one")(lambda: None)
    with pytest.raises(OptionInvalid, match="plain jobs"):
        app.submit(film, branch="a")
    with pytest.raises(OptionInvalid, match="as many branches"):
        app.submit_many(kind, [{"host": "a"}], branches=["a", "b"])
    with pytest.raises(OptionInvalid, match="goes with a limit"):
        app.queues.limit("web", None, rate=1)
    with pytest.raises(OptionInvalid, match="rate"):
        app.queues.limit("web", 1, rate=0)
    with pytest.raises(NameInvalid):
        app.queues.limit("web/a/b", 1)
    with pytest.raises(NameInvalid):
        app.queues.limit("*", 1)


def test_what_runs_is_listed_with_how_far_it_has_come(app, url):
    release = threading.Event()

    @app.job(queue="web")
    def fetch(task, host: str):
        task.progress(3, total=10, message=host)
        release.wait(60)

    fetch.submit({"host": "a"}, branch="a", key="a")
    fetch.submit({"host": "b"}, key="b")
    with run_worker(url, fetch):
        try:
            until(lambda: sum(one.progress is not None for one in app.queues.running("web")) == 2)
            found = {one.key: one.progress for one in app.queues.running("web")}
        finally:
            release.set()
    assert found == {name: {"done": 3, "message": name, "total": 10} for name in "ab"}
    assert app.queues.running("web") == []
