"""Advance: what waits for others becomes ready, fans out, ends or is called off, from data alone."""

import json
from collections import Counter

import pytest

from leasehold.model.lease import Settlement
from leasehold.runtime.maintain.orchestrator import Orchestrator
from leasehold.testing import Clock
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import advance, claim, fail, finish, look, pipeline, routes_of, stage, status, statuses


def run(store, worker, name, output=None, *, kind="film"):
    """Finish every ready task of one stage and let an orchestrator look."""
    leases = claim(store, worker, 1000, routes=routes_of(name, kind=kind))
    landed = finish(store, leases, output)
    assert all(one.has_dependents for one in landed)
    advance(store)
    return leases


def test_a_stage_runs_when_what_it_waits_for_is_done(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one"), stage("three", "two"))
    assert statuses(store, film.id) == {
        (None, None): "NEW",
        ("one", None): "READY",
        ("two", None): "NEW",
        ("three", None): "NEW",
    }
    for name in ("one", "two", "three"):
        assert len(run(store, worker, name, {"from": name})) == 1
    assert set(statuses(store, film.id).values()) == {"DONE"}
    assert store.stages.outputs(film.id) == {"three": {"from": "three"}}
    check_everything(store)


def test_a_job_runs_from_its_first_claim_to_its_last_end(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one"))
    assert status(store, film.id) == "NEW"
    leases = claim(store, worker, routes=routes_of("one"))
    assert status(store, film.id) == "RUNNING"
    finish(store, leases)
    assert status(store, film.id) == "RUNNING"
    advance(store)
    run(store, worker, "two")
    assert status(store, film.id) == "DONE"


def test_a_diamond_waits_for_both_of_its_sides(store, worker):
    film = pipeline(
        store, "k", stage("top"), stage("left", "top"), stage("right", "top"), stage("end", "left", "right")
    )
    run(store, worker, "top", 0)
    run(store, worker, "left", 1)
    assert statuses(store, film.id)["end", None] == "NEW"
    run(store, worker, "right", 2)
    (lease,) = claim(store, worker, routes=routes_of("end"))
    assert store.stages.inputs(lease.task_id) == {"left": 1, "right": 2}
    finish(store, [lease])
    advance(store)
    assert status(store, film.id) == "DONE"


def test_both_sides_settled_before_anybody_looked_count_once_each(store, worker):
    film = pipeline(store, "k", stage("left"), stage("right"), stage("end", "left", "right"))
    finish(store, claim(store, worker, routes=routes_of("left", "right")))
    assert advance(store) == 2
    assert statuses(store, film.id)["end", None] == "READY"


@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_stage_fans_out_into_one_segment_per_item(store, worker, count):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    run(store, worker, "script", {"scenes": [{"n": number} for number in range(count)]})
    leases = claim(store, worker, 1000, routes=routes_of("audio"))
    assert [(lease.segment, json.loads(lease.item or "")) for lease in leases] == [(n, {"n": n}) for n in range(count)]
    assert store.stages.inputs(leases[0].task_id)["script"]["scenes"][0] == {"n": 0}
    for lease in reversed(leases):
        finish(store, [lease], {"sound": lease.segment})
    advance(store)
    (render,) = claim(store, worker, routes=routes_of("render"))
    assert store.stages.inputs(render.task_id) == {"audio": [{"sound": number} for number in range(count)]}
    finish(store, [render], "film")
    advance(store)
    assert store.stages.outputs(film.id) == {"render": "film"}
    assert status(store, film.id) == "DONE"


def test_a_segment_has_the_key_and_payload_of_its_job(store, worker):
    film = pipeline(
        store, "k", stage("script"), stage("audio", "script", each="scenes", lease_ms=7_000, attempts_max=2)
    )
    run(store, worker, "script", {"scenes": ["x"]})
    (lease,) = claim(store, worker, routes=routes_of("audio"))
    assert (lease.key, lease.payload, lease.job_id) == ("k", "{}", film.id)
    assert (lease.lease_ms, lease.attempts_max, lease.route) == (7_000, 2, "film/audio")


def test_an_empty_list_is_done_at_once_and_the_rest_goes_on(store, worker):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    run(store, worker, "script", {"scenes": []})
    (render,) = claim(store, worker, routes=routes_of("render"))
    assert store.stages.inputs(render.task_id) == {"audio": []}
    finish(store, [render])
    advance(store)
    assert status(store, film.id) == "DONE"


def test_ten_thousand_segments_run_exactly_once_each(store, worker):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    run(store, worker, "script", {"scenes": list(range(10_000))})
    seen: list[int | None] = []
    while leases := claim(store, worker, 1000, routes=routes_of("audio")):
        seen += [lease.segment for lease in leases]
        finish(store, leases)
    assert Counter(seen) == Counter(range(10_000))
    assert advance(store) == 10_001
    run(store, worker, "render")
    assert status(store, film.id) == "DONE"


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ({"scenes": list(range(10_001))}, "FAN_OUT_TOO_LARGE"),
        ({"scenes": {"a": 1}}, "EACH_INVALID"),
        ({"scenes": "abc"}, "EACH_INVALID"),
        ({"scenes": None}, "EACH_INVALID"),
        ({"other": []}, "EACH_INVALID"),
        ([1, 2], "EACH_INVALID"),
        (None, "EACH_INVALID"),
    ],
)
def test_what_cannot_fan_out_ends_the_job_with_the_reason(store, worker, output, code):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    run(store, worker, "script", output)
    assert statuses(store, film.id) == {
        (None, None): "ERROR",
        ("script", None): "DONE",
        ("audio", None): "ERROR",
        ("render", None): "CANCELLED",
    }
    assert work.failure(store, film.id)["error_class"] == code
    check_everything(store)


def test_fanning_out_over_a_stage_that_fanned_out_is_an_error_with_a_reason(store, worker):
    film = pipeline(store, "k", stage("a"), stage("b", "a", each="list"), stage("c", "b", each="list"))
    run(store, worker, "a", {"list": [1]})
    run(store, worker, "b", {"list": [1]})
    assert status(store, film.id) == "ERROR"
    assert work.failure(store, film.id)["error_class"] == "EACH_INVALID"


def test_a_failed_stage_cancels_what_can_no_longer_run(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one"), stage("three", "two"), stage("aside"))
    fail(store, claim(store, worker, routes=routes_of("one")))
    advance(store)
    found = statuses(store, film.id)
    assert (found["two", None], found["three", None], found["aside", None]) == ("CANCELLED", "CANCELLED", "READY")
    assert found[None, None] == "RUNNING"
    (two,) = (task for task in store.reports.tasks(film.id) if task.stage == "two")
    assert json.loads(two.failure or "")["error_class"] == "PREREQUISITE_FAILED"
    assert "stage 'one' ended ERROR" in json.loads(two.failure or "")["message"]
    run(store, worker, "aside")
    assert status(store, film.id) == "ERROR"
    assert work.failure(store, film.id)["error_class"] == "PERMANENT"
    assert "stage 'one' failed: it cannot work" in work.failure(store, film.id)["message"]
    check_everything(store)


def test_a_failed_segment_fails_its_stage_when_the_others_have_ended(store, worker):
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("render", "audio"))
    run(store, worker, "script", {"scenes": [0, 1, 2]})
    leases = claim(store, worker, routes=routes_of("audio"))
    fail(store, [leases[1]])
    advance(store)
    assert statuses(store, film.id)["audio", None] == "RUNNING"
    finish(store, leases)
    advance(store)
    found = statuses(store, film.id)
    assert (found["audio", None], found["render", None], found[None, None]) == ("ERROR", "CANCELLED", "ERROR")
    assert "segment 2" in str([task.failure for task in store.reports.tasks(film.id) if task.stage == "audio"])


def test_a_job_none_of_whose_stages_failed_but_one_was_cancelled_ends_cancelled(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one"))
    (lease,) = claim(store, worker, routes=routes_of("one"))
    store.leases.settle([Settlement(lease.task_id, lease.fence, "CANCELLED", failure=work.REASON)])
    advance(store)
    assert set(statuses(store, film.id).values()) == {"CANCELLED"}
    assert work.failure(store, film.id)["error_class"] == "CANCELLED"


def test_a_retried_stage_goes_on_where_it_was(store, worker, clock):
    film = pipeline(store, "k", stage("one"), stage("two", "one"))
    (lease,) = claim(store, worker, routes=routes_of("one"))
    store.leases.settle([work.retry(lease, 5)])
    assert advance(store) == 0
    clock.advance(5)
    store.stages.make_due()
    run(store, worker, "one")
    run(store, worker, "two")
    assert status(store, film.id) == "DONE"


def test_a_stage_that_names_a_prerequisite_twice_waits_for_it_once(store, worker):
    film = pipeline(store, "k", stage("one"), stage("two", "one", "one"))
    run(store, worker, "one")
    assert statuses(store, film.id)["two", None] == "READY"


def test_a_lost_stage_that_must_not_repeat_ends_its_job(store, worker, clock):
    film = pipeline(store, "k", stage("one", on_lost="bury"), stage("two", "one"))
    claim(store, worker, routes=routes_of("one"))
    clock.advance(31)
    store.leases.reclaim(store.losses.expired())
    advance(store)
    assert status(store, film.id) == "ERROR"
    assert work.failure(store, film.id)["error_class"] == "WORKER_CRASHED"


def test_a_plain_job_leaves_nothing_for_the_orchestrator(store, worker):
    work.submit(store, "k")
    assert [one.has_dependents for one in finish(store, claim(store, worker))] == [False]
    assert look(store, "SELECT count(*) FROM unsettled") == [(0,)]
    assert advance(store) == 0


def test_the_queues_that_got_work_are_named(store, worker):
    pipeline(store, "k", stage("one"), stage("two", "one", queue="slow"), stage("three", "one", each="l", queue="wide"))
    finish(store, claim(store, worker, routes=routes_of("one")), {"l": [1]})
    assert Orchestrator(store).advance_batch().queues == {"slow", "wide"}


def test_a_stage_of_which_many_segments_failed_names_the_first_of_them(store, worker):
    """Whichever failed first: the same parts give the same text, on both databases."""
    film = pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"))
    run(store, worker, "script", {"scenes": [1, 2, 3]})
    leases = claim(store, worker, routes=routes_of("audio"))
    for lease in reversed(leases):
        fail(store, [lease])
    advance(store)
    assert "stage 'audio' segment 1 failed" in work.failure(store, film.id)["message"]


def test_l3_what_was_due_first_is_ready_first(store, worker):
    """Not what was submitted first."""
    clock = Clock(store)
    for key, delay in (("late", 9), ("early", 3), ("middle", 5)):
        work.submit(store, key, delay=delay)
    clock.advance(10)
    assert store.stages.make_due().count == 3
    assert [work.claim_one(store, worker).key for _ in range(3)] == ["early", "middle", "late"]
