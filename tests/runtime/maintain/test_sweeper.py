"""Leases come back: at once from owners that are certainly gone, at their expiry from all others, and only once."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier, Thread

import pytest

from leasehold import Retry
from leasehold.model import lease as endings
from leasehold.model.failure.loss import suspect_route
from leasehold.model.lease import SUSPECT_LOSSES
from leasehold.runtime.maintain.orchestrator import Orchestrator
from leasehold.runtime.maintain.sweeper import Sweeper
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import is_gone, this_process
from leasehold.store import open_store
from leasehold.testing import Clock
from tests.store.leases.test_refused_writes import refusing
from tests.support.apps.deliveries import PROVIDER, post, write
from tests.support.db import check_journal, check_places, connected, names, rows
from tests.support.manual_leases import claim, enrol
from tests.support.wait import until

TEN_MINUTES = {"WORKSHOP_LEASE": "600"}


def test_l1_a_dead_workers_leases_are_taken_back_at_once_and_not_after_ten_minutes(app, workers, url):
    first = workers.start(environment=TEN_MINUTES)
    jobs = [app.submit("hold", {"name": str(number)}) for number in range(6)]
    until(lambda: len(workers.journal("start")) == 6)
    second = workers.start(environment=TEN_MINUTES)
    first.kill()
    until(lambda: [line[3] for line in workers.journal("start")].count(str(second.pid)) == 6)
    for number in range(6):
        workers.open(str(number))
    assert [job.wait(timeout=60).status for job in jobs] == ["DONE"] * 6
    found = [json.loads(detail) for (detail,) in rows(url, "SELECT detail FROM event WHERE name = 'reclaimed'")]
    assert [(one["why"], one["losses"], len(one["others"])) for one in found] == [("owner gone", 1, 5)] * 6
    check_places(url)
    check_journal(url)


def dead_process():
    """Return the identity of a process of this boot and namespace that is certainly gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    owner = replace(this_process(), pid=process.pid, birth=1)
    process.wait()
    return owner


def test_s14_deliveries_of_a_relay_that_is_gone_are_given_back_in_the_same_second(app):
    write(app.store, post())
    (taken,) = app.store.deliveries.claim(PROVIDER, 600, 1, worker=app.store.workers.register(dead_process()))
    assert app.store.deliveries.claim(PROVIDER, 600, 1) == []
    upkeep_of(app.store, enrol(app.store)).poll_once()
    (again,) = app.store.deliveries.claim(PROVIDER, 600, 1)
    assert (again.id, again.was) == (taken.id, "pending")


def upkeep_of(store, worker):
    return Upkeep(store, worker, this_process(), EventLog(worker=worker))


def test_an_owner_of_another_boot_or_namespace_is_only_given_up_at_its_expiry(app, url):
    """Its pid means nothing here, so nothing is guessed from it."""
    manual = Clock(app)
    kind = app.job(lambda: None, name="kept", lease=600)
    jobs = app.submit_many(kind, [{}] * 3)
    gone = dead_process()
    owners = [gone, replace(gone, boot="another boot"), replace(gone, namespace="pid:[1]")]
    for owner in owners:
        assert len(claim(app.store, enrol(app.store, owner), "kept")) == 1
    upkeep = upkeep_of(app.store, enrol(app.store))
    for _ in range(12):
        upkeep.poll_once()
    assert [job.status for job in jobs] == ["READY", "RUNNING", "RUNNING"]
    manual.advance(599)
    upkeep.poll_once()
    assert [job.status for job in jobs] == ["READY", "RUNNING", "RUNNING"]
    manual.advance(1)
    upkeep.poll_once()
    assert [job.status for job in jobs] == ["READY"] * 3
    details = rows(url, "SELECT detail FROM event WHERE name = 'reclaimed' ORDER BY task_id")
    assert ["owner gone" in detail for (detail,) in details] == [True, False, False]
    assert ["expired" in detail for (detail,) in details] == [False, True, True]


@contextmanager
def out_of_reach(url, task):
    """Keep sweeps from a lease: held by another transaction, or where nobody can hold a row, not yet over."""
    with connected(url) as connection:
        if url.startswith("sqlite"):
            connection.execute("UPDATE lease SET expires_at = expires_at * 2 WHERE task_id = ?", (task,))
            yield
            connection.execute("UPDATE lease SET expires_at = expires_at / 2 WHERE task_id = ?", (task,))
        else:
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM lease WHERE task_id = %s FOR UPDATE", (task,))
            yield
            connection.execute("ROLLBACK")


def test_l1_a_lease_that_sweeps_could_not_take_is_found_again_although_they_have_passed_it(app, url):
    """Sweeps begin where the last one ended, and now and then at the start, for what was left behind."""
    manual = Clock(app)
    kind = app.job(lambda: None, name="kept", lease=60)
    jobs = app.submit_many(kind, [{}] * 2)
    claim(app.store, enrol(app.store), "kept", most=2)
    upkeep = upkeep_of(app.store, enrol(app.store))
    with out_of_reach(url, jobs[0].id):
        for _ in range(3):
            manual.advance(61)
            upkeep.poll_once()
        assert [job.status for job in jobs] == ["RUNNING", "READY"]
    for _ in range(10):
        upkeep.poll_once()
    assert [job.status for job in jobs] == ["READY", "READY"]


@pytest.mark.parametrize("dialect", ["postgres"])
def test_l1_an_owner_is_not_noted_as_gone_before_all_its_leases_are_taken_back(app, url):
    """Its server may not know yet that it is gone, and hold a lease for it; noted as gone, nobody would look again."""
    kind = app.job(lambda: None, name="kept", lease=600)
    jobs = app.submit_many(kind, [{}] * 2)
    assert len(claim(app.store, enrol(app.store, dead_process()), "kept", most=2)) == 2
    upkeep = upkeep_of(app.store, enrol(app.store))
    with out_of_reach(url, jobs[0].id):
        upkeep.poll_once()
        assert [job.status for job in jobs] == ["RUNNING", "READY"]
    upkeep.poll_once()
    assert [job.status for job in jobs] == ["READY", "READY"]
    check_places(url)


def test_what_cannot_be_swept_does_not_keep_upkeep_from_the_rest(app):
    """L1: one lease that no database takes back, and what is due becomes ready all the same."""
    manual = Clock(app)
    lost, later = app.job(lambda: None, name="lost", on_lost="bury"), app.job(lambda: None, name="later")
    stuck = lost.submit()
    claim(app.store, enrol(app.store), "lost")
    job = app.submit(later, {}, delay=5)
    manual.advance(31)
    upkeep = upkeep_of(app.store, enrol(app.store))
    with refusing(app.store, "dead_letter"):
        upkeep.poll_once()
        assert (stuck.status, job.status) == ("RUNNING", "READY")
    upkeep.poll_once()
    assert stuck.status == "ERROR"


def test_a_process_is_only_called_gone_when_that_is_certain():
    mine = this_process()
    assert not is_gone(mine.pid, mine.birth)
    assert is_gone(mine.pid, mine.birth + 1)
    assert not is_gone(mine.pid, 0)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert not is_gone(child.pid, 0)
    child.send_signal(signal.SIGSTOP)
    assert not is_gone(child.pid, 0)
    child.kill()
    until(lambda: os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT))
    assert is_gone(child.pid, 1)
    child.communicate()
    assert is_gone(child.pid, 1)


def test_s12_a_task_that_kills_its_worker_runs_out_of_losses(app, url):
    """They are counted when the lease is taken back, so no handler needs to live to count them."""
    manual = Clock(app)
    kind = app.job(lambda: None, name="deadly", retry=Retry(losses=5))
    app.migrate()
    job = kind.submit()
    sweeper = upkeep_of(app.store, enrol(app.store))
    for attempt in range(1, 6):
        route = "deadly" if attempt <= SUSPECT_LOSSES else suspect_route("deadly")
        [lease] = claim(app.store, enrol(app.store, dead_process()), route)
        assert (lease.attempt, lease.fence, lease.losses) == (attempt, attempt, attempt - 1)
        sweeper.poll_once()
        manual.advance(60)
        sweeper.poll_once()
    assert (job.status, job.failure["error_class"]) == ("ERROR", "WORKER_CRASHED")
    assert [name for name in names(url, job.id) if name != "advanced"] == ["submitted", *["claimed", "reclaimed"] * 5]
    check_places(url)


def test_a_task_that_must_not_be_repeated_ends_when_its_worker_dies(app, workers, url):
    process = workers.start()
    job = app.submit("fragile", {"name": "a"})
    until(lambda: workers.journal("start"))
    process.kill()
    workers.start()
    assert job.wait(timeout=60).status == "ERROR"
    assert job.failure["error_class"] == "WORKER_CRASHED"
    assert "bury" in job.failure["message"]
    assert len(workers.journal("start")) == 1


def at_once(count, act):
    """Run `act(number)` on so many threads, all starting together."""
    barrier, answers = Barrier(count), []

    def run(number):
        barrier.wait(60)
        answers.append(act(number))

    threads = [Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_sweepers_at_once_take_every_lease_back_exactly_once(app, url):
    """S1, S6: each lease makes one line in the journal, however many sweepers look."""
    manual = Clock(app)
    kind = app.job(lambda: None, name="kept", lease=60)
    app.submit_many(kind, [{}] * 2_000)
    worker = enrol(app.store)
    while claim(app.store, worker, "kept", most=500):
        pass
    manual.advance(61)
    stores = [open_store(url) for _ in range(4)]
    at_once(4, lambda number: Sweeper(stores[number], EventLog()).sweep_expired())
    assert rows(url, "SELECT count(*) FROM event WHERE name = 'reclaimed'") == [(2_000,)]
    assert rows(url, "SELECT count(*), min(attempt), max(fence) FROM ready") == [(2_000, 1, 1)]
    check_places(url)
    for store in stores:
        store.close()


def test_orchestrators_at_once_do_nothing_twice(app, url):
    """S6, S7: every stage and segment is made ready once, numbered without gaps, and every job ends once."""
    film = app.pipeline("film")
    stages = [
        film.stage(lambda: {"scenes": list(range(5))}, name="script"),
        film.stage(lambda: None, name="audio", after="script", each="scenes"),
        film.stage(lambda: None, name="render", after="audio"),
    ]
    app.submit_many(film, [{}] * 100)
    stores = [open_store(url) for _ in range(4)]
    for _ in range(6):
        work_off(app, [stage.handler.route for stage in stages])
        at_once(4, lambda number: Orchestrator(stores[number]).advance())
    assert {job.status for job in app.jobs(limit=100)} == {"DONE"}
    assert rows(url, "SELECT count(*) FROM task") == [(100 * (1 + 3 + 5),)]
    assert rows(url, "SELECT count(*) FROM event WHERE name = 'submitted'") == [(900,)]
    segments = rows(url, "SELECT parent_id, segment FROM task WHERE segment IS NOT NULL ORDER BY parent_id, segment")
    assert [segment for _, segment in segments] == [0, 1, 2, 3, 4] * 100
    assert rows(url, "SELECT task_id FROM event WHERE name = 'advanced' GROUP BY task_id HAVING count(*) > 1") == []
    check_places(url)
    check_journal(url)
    for store in stores:
        store.close()


def work_off(app, routes):
    """Settle everything that is ready, as a worker would."""
    worker = enrol(app.store)
    for route in routes:
        while leases := claim(app.store, worker, route, most=500):
            output = '{"scenes":[0,1,2,3,4]}' if route.endswith("script") else "null"
            app.store.leases.settle([endings.done(lease, output) for lease in leases])


def test_two_worker_processes_orchestrate_one_set_of_pipelines_together(app, workers, url):
    workers.start()
    workers.start()
    jobs = app.submit_many("film", [{"scenes": number % 4} for number in range(8)])
    outputs = [job.wait(timeout=120).output for job in jobs]
    assert outputs == [{"render": {"audio": [scene * 10 for scene in range(number % 4)]}} for number in range(8)]
    assert len(workers.journal("ran", "script")) == 8
    assert len(workers.journal("ran", "audio")) == 12
    check_places(url)
    check_journal(url)
