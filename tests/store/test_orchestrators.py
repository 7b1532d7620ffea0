"""Any number of orchestrators at once, with claims, settlements and cancels between them, never do a thing twice."""

import threading
from collections import Counter

import pytest

from leasehold.model.lease import done, failed
from leasehold.runtime.maintain.orchestrator import Orchestrator
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, look, pipeline, register, routes_of, stage, statuses

STAGES = (
    stage("script"),
    stage("audio", "script", each="scenes"),
    stage("image", "script", each="scenes"),
    stage("join", "audio", "image"),
    stage("render", "join", "script"),
)
ROUTES = routes_of("script", "audio", "image", "join", "render")


def drain(store, worker, over, jobs: int) -> None:
    while not over.is_set():
        leases = claim(store, worker, 5, routes=ROUTES)
        store.leases.settle([done(lease, '{"scenes":[1,2,3,4,5,6,7,8]}') for lease in leases])
        if not leases:
            settled = "SELECT count(*) FROM outcome JOIN task ON task.id = task_id WHERE parent_id IS NULL"
            if look(store, settled)[0][0] == jobs:
                over.set()


@pytest.mark.parametrize("orchestrators", [2, 8])
def test_orchestrators_at_once_make_each_segment_and_each_end_once(store, orchestrators):
    """S3, S5, S6: two and eight orchestrators, three workers, nothing twice and nothing left."""
    films = [pipeline(store, str(number), *STAGES).id for number in range(6)]
    workers = [register(store, number) for number in range(3)]

    def act(number):
        if number < 3:
            drain(store, workers[number], over, len(films))
        while not over.wait(0.001):
            Orchestrator(store).advance_batch()

    with work.ending() as over:
        at_once(3 + orchestrators, act)
    for film in films:
        found = statuses(store, film)
        assert set(found.values()) == {"DONE"}
        assert Counter(name for name, segment in found if segment is not None) == {"audio": 8, "image": 8}
    assert look(store, "SELECT count(*) FROM event WHERE name = 'claimed'") == [(6 * 19,)]
    assert look(store, "SELECT count(*) FROM waiting") == look(store, "SELECT count(*) FROM unsettled") == [(0,)]
    check_everything(store)


def test_orchestrators_at_once_count_every_prerequisite_once(store, worker):
    """One stage that waits for forty others, all of them settled before anybody looks."""
    names = [f"part{number}" for number in range(40)]
    films = [pipeline(store, str(key), *[stage(name) for name in names], stage("end", *names)) for key in range(5)]
    work.finish(store, claim(store, worker, 1000, routes=routes_of(*names)))
    seen = at_once(8, lambda _: work.advance(store))
    assert sum(seen) == 200
    assert [statuses(store, film.id)["end", None] for film in films] == ["READY"] * 5
    check_everything(store)


def test_a_failure_and_many_successes_at_once_cancel_what_waits_once(store, worker):
    names = [f"part{number}" for number in range(30)]
    film = pipeline(store, "k", *[stage(name) for name in names], stage("end", *names), stage("last", "end"))
    leases = claim(store, worker, 100, routes=routes_of(*names))

    def act(number):
        lease = leases[number]
        store.leases.settle([done(lease, None) if number % 3 else failed(lease, work.BROKEN)])
        work.advance(store)

    at_once(30, act)
    work.advance(store)
    found = statuses(store, film.id)
    assert (found["end", None], found["last", None], found[None, None]) == ("CANCELLED", "CANCELLED", "ERROR")
    check_everything(store)


@pytest.mark.parametrize("turn", range(4))
def test_a_cancel_that_meets_a_fan_out_leaves_nothing_that_could_still_run(store, worker, turn):
    """S3: what the orchestrator added while the cancel was under way is called off with the rest."""
    stages = (stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    film = pipeline(store, "k", *stages)
    (lease,) = claim(store, worker, routes=ROUTES)
    store.leases.settle([done(lease, '{"scenes":[' + ",".join("1" * 300) + "]}")])
    start = threading.Barrier(4)
    held = []

    def act(number):
        start.wait()
        if number == 0:
            store.tasks.cancel(film.id, work.REASON)
        elif number == 1:
            held.extend(claim(store, worker, 50, routes=ROUTES))
        else:
            work.advance(store)

    at_once(4, act)
    work.finish(store, held)
    work.advance(store)
    assert claim(store, worker, 1000, routes=ROUTES) == []
    assert set(statuses(store, film.id).values()) <= {"DONE", "CANCELLED"}
    assert statuses(store, film.id)[None, None] == "CANCELLED"
    check_everything(store)


def test_a_cancel_that_meets_claims_reaches_every_task(store):
    """A task is called off while it waits or asked to stop while it runs; none slips between."""
    names = [f"part{number}" for number in range(60)]
    film = pipeline(store, "k", *[stage(name) for name in names])
    workers = [register(store, number) for number in range(4)]
    start = threading.Barrier(5)

    def act(number):
        start.wait()
        if number == 4:
            return store.tasks.cancel(film.id, work.REASON)
        return [lease for _ in range(15) for lease in claim(store, workers[number], 1, routes=routes_of(*names))]

    *claimed, cancelled = at_once(5, act)
    leases = [lease for part in claimed for lease in part]
    assert cancelled.ended + cancelled.asked == 61
    assert look(store, "SELECT count(*) FROM lease WHERE cancel_reason IS NULL") == [(0,)]
    assert {one.status for one in work.finish(store, leases)} <= {"CANCELLED"}
    assert set(statuses(store, film.id).values()) == {"CANCELLED"}
    check_everything(store)


def test_due_tasks_are_made_ready_once_by_many(store, worker, clock):
    work.submit(store, *[str(number) for number in range(200)], delay=1)
    clock.advance(1)
    assert sum(at_once(6, lambda _: store.stages.make_due().count)) == 200
    assert len(claim(store, worker, 1000)) == 200
    check_everything(store)
