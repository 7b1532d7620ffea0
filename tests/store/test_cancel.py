"""Cancel: what waits ends at once, what runs is asked to stop, and what has ended stays as it is."""

from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import (
    advance,
    claim,
    claim_one,
    finish,
    look,
    pipeline,
    routes_of,
    stage,
    status,
    statuses,
    submit,
)


def counts(store, job_id) -> tuple[int, int]:
    found = store.tasks.cancel(job_id, work.REASON)
    return found.ended, found.asked


def test_a_ready_task_is_called_off_at_once(store, worker):
    (task,) = submit(store, "k")
    assert counts(store, task) == (1, 0)
    assert status(store, task) == "CANCELLED"
    assert store.reports.job(task).failure == work.REASON
    assert claim(store, worker) == []
    check_everything(store)


def test_a_task_that_waits_for_its_time_is_called_off_at_once(store, clock):
    (task,) = submit(store, "k", delay=5)
    assert counts(store, task) == (1, 0)
    clock.advance(6)
    assert store.stages.make_due().count == 0
    check_everything(store)


def test_a_running_task_is_asked_once_and_goes_on_until_it_stops(store, worker):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    assert counts(store, task) == (0, 1)
    assert counts(store, task) == (0, 0)
    assert status(store, task) == "RUNNING"
    finish(store, [lease])
    assert status(store, task) == "CANCELLED"


def test_a_settled_task_is_not_touched(store, worker):
    """S5: settled is settled."""
    (task,) = submit(store, "k")
    finish(store, [claim_one(store, worker)])
    assert counts(store, task) == (0, 0)
    assert status(store, task) == "DONE"


def test_a_job_that_is_not_there_has_nothing_to_cancel(store):
    assert counts(store, 12_345) == (0, 0)


def test_other_jobs_are_left_alone(store):
    (one, other) = submit(store, "one", "other")
    counts(store, one)
    assert status(store, other) == "READY"


def test_a_pipeline_is_called_off_with_all_its_tasks(store, worker):
    stages = (stage("script"), stage("audio", "script", each="s"), stage("render", "audio"))
    film = pipeline(store, "k", *stages)
    finish(store, claim(store, worker, routes=routes_of("script")), {"s": [1, 2, 3]})
    advance(store)
    running = claim(store, worker, 1, routes=routes_of("audio"))
    assert counts(store, film.id) == (5, 1)
    finish(store, running)
    advance(store)
    found = statuses(store, film.id)
    assert found.pop(("script", None)) == "DONE"
    assert set(found.values()) == {"CANCELLED"}
    assert look(store, "SELECT count(*) FROM unsettled") == [(0,)]
    check_everything(store)


def test_the_number_of_a_stage_does_not_name_a_job(store):
    film = pipeline(store, "k", stage("one"))
    (_, one) = store.reports.tasks(film.id)
    assert counts(store, one.id) == (0, 0)
    assert status(store, film.id) == "NEW"
    assert store.reports.job(one.id) is None


def test_a_worker_learns_of_a_cancel_by_its_pulse(store, worker):
    (task,) = submit(store, "k")
    lease = claim_one(store, worker)
    counts(store, task)
    question = work.question(worker)
    assert store.workers.pulse(question).cancels == [(task, lease.fence, work.REASON)]
    assert store.workers.pulse(work.question(worker + 1)).cancels == []
