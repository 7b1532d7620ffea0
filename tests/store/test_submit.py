"""Submit: the same intent is one job, however often and from however many places it comes."""

import json
import threading

import pytest

from leasehold.errors import KeyConflict
from leasehold.model.graph import Definition
from leasehold.model.task import Submission, Terms
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, connect, job, look, pipeline, stage, statuses, submit


def count(store, table="task") -> int:
    return look(store, f"SELECT count(*) FROM {table}")[0][0]  # noqa: S608


def test_a_submitted_job_is_ready_with_its_line_in_the_journal(store, clock):
    (made,) = store.tasks.submit([job("k", payload={"b": 1, "a": "ü"})])
    assert (made.kind, made.key, made.payload, made.created) == ("a", "k", '{"a":"ü","b":1}', True)
    row = store.reports.job(made.id)
    assert (row.status, row.payload, row.created_at) == ("READY", '{"a":"ü","b":1}', clock.now)
    assert [line.name for line in store.reports.events(made.id)] == ["submitted"]


def test_the_same_key_again_is_the_job_that_is_there(store, worker):
    first = store.tasks.submit([job("k", payload={"n": 1})])[0]
    claim(store, worker)
    again = store.tasks.submit([job("k", payload={"n": 1}, priority=9, delay=60)])[0]
    assert (again.id, again.created) == (first.id, False)
    assert count(store) == 1


def test_the_same_key_of_another_kind_is_another_job(store):
    first = store.tasks.submit([job("k", kind="a"), job("k", kind="b")])
    assert len({one.id for one in first}) == 2


def test_the_same_key_with_another_payload_is_a_conflict(store):
    store.tasks.submit([job("k", payload={"n": 1})])
    with pytest.raises(KeyConflict, match="kind 'a', key 'k'") as refused:
        store.tasks.submit([job("k", payload={"n": 2})])
    assert refused.value.code == "KEY_CONFLICT"
    assert count(store) == 1


def test_one_conflict_in_a_batch_leaves_none_of_it(store):
    """S3 in reverse: what was not acknowledged is not there in part."""
    store.tasks.submit([job("k", payload={"n": 1})])
    with pytest.raises(KeyConflict):
        store.tasks.submit([*[job(str(number)) for number in range(2500)], job("k", payload={"n": 2})])
    assert count(store) == count(store, "event") == count(store, "ready") == 1


def test_the_same_key_twice_in_one_batch_is_one_job_made_once(store):
    made = store.tasks.submit([job("x"), job("k"), job("k"), job("y"), job("k")])
    assert len({made[number].id for number in (1, 2, 4)}) == 1
    assert [one.created for one in made] == [True, True, False, True, False]
    assert count(store) == 3


def test_the_same_key_far_apart_in_one_batch_is_one_job_made_once(store):
    made = store.tasks.submit([job("k"), *[job(str(number)) for number in range(2500)], job("k")])
    assert made[0].id == made[-1].id
    assert (made[0].created, made[-1].created) == (True, False)


def test_two_payloads_of_one_key_in_one_batch_are_a_conflict(store):
    with pytest.raises(KeyConflict):
        store.tasks.submit([job("k", payload={"n": 1}), job("k", payload={"n": 2})])
    assert count(store) == 0


def test_answers_come_in_the_order_of_the_batch(store):
    submit(store, "c", "a")
    made = store.tasks.submit([job(key) for key in "abcde"])
    assert [one.key for one in made] == list("abcde")
    assert [one.created for one in made] == [False, True, False, True, True]


def test_an_empty_batch_is_answered_with_nothing(store):
    assert store.tasks.submit([]) == []


def test_sixty_four_submits_at_once_make_one_job(store):
    """S3: every caller gets the same job, and one of them made it."""
    start = threading.Barrier(64)

    def act(_):
        start.wait()
        return store.tasks.submit([job("k", payload={"n": 1})])[0]

    answers = at_once(64, act)
    assert len({one.id for one in answers}) == 1
    assert sum(one.created for one in answers) == 1
    check_everything(store)


def test_batches_that_overlap_in_opposite_order_do_not_fail_each_other(store):
    keys = [str(number) for number in range(300)]

    def act(number):
        return store.tasks.submit([job(key) for key in (keys if number % 2 else keys[::-1])])

    answers = at_once(6, act)
    assert {frozenset(one.id for one in part) for part in answers} == {frozenset(one.id for one in answers[0])}
    assert count(store) == 300
    check_everything(store)


def test_sixteen_pipelines_at_once_make_one_with_its_stages(store):
    answers = at_once(16, lambda _: pipeline(store, "k", stage("one"), stage("two", "one")))
    assert len({one.id for one in answers}) == 1
    assert count(store) == 3


def test_a_pipeline_twice_in_one_batch_has_its_stages_once(store):
    definition = Definition("film", Terms(), (stage("one"), stage("two", "one")))
    made = store.tasks.submit_pipelines([Submission("film", "k", "{}", Terms(), unmet=2)] * 2, definition)
    assert [one.created for one in made] == [True, False]
    assert statuses(store, made[0].id) == {(None, None): "NEW", ("one", None): "READY", ("two", None): "NEW"}


def test_ten_thousand_jobs_are_submitted_in_one_call(store, worker):
    made = store.tasks.submit([job(f"k{number}", payload={"n": number}) for number in range(10_000)])
    assert len({one.id for one in made}) == 10_000
    assert [one.id for one in made] == sorted(one.id for one in made)
    assert count(store, "ready") == count(store, "event") == 10_000
    assert [lease.key for lease in claim(store, worker, 3)] == ["k0", "k1", "k2"]


def test_a_batch_of_large_payloads_is_split_and_still_whole(store):
    large = {"text": "x" * 1_000_000}
    with pytest.raises(KeyConflict):
        store.tasks.submit([*[job(str(number), payload=large) for number in range(12)], job("0", payload={})])
    assert count(store) == 0
    store.tasks.submit([job(str(number), payload=large) for number in range(12)])
    assert count(store) == 12


def test_a_delayed_job_waits_for_its_time(store, worker, clock):
    (task,) = submit(store, "k", delay=60)
    assert store.reports.tasks(task)[0].status == "NEW"
    assert store.reports.tasks(task)[0].due_at == clock.now + 60_000_000
    assert claim(store, worker) == []
    clock.advance(60)
    store.stages.make_due()
    assert [lease.task_id for lease in claim(store, worker)] == [task]


def test_a_delayed_pipeline_starts_its_first_stages_after_the_delay(store, worker, clock):
    film = pipeline(store, "k", stage("one"), stage("two", "one"), delay=60)
    assert store.stages.make_due().count == 0
    clock.advance(60)
    assert store.stages.make_due().count == 1
    assert statuses(store, film.id)["one", None] == "READY"
    assert statuses(store, film.id)["two", None] == "NEW"


def test_acknowledged_jobs_are_there_for_other_processes(store):
    """S3: what was answered is committed."""
    submit(store, "k")
    with connect(store) as other:
        schema = "leasehold." if store.url.startswith("postgresql") else ""
        assert other.execute(f"SELECT key FROM {schema}task").fetchall() == [("k",)]  # noqa: S608


def test_a_published_kind_is_known_to_processes_without_its_handlers(store):
    definition = Definition("film", Terms(queue="slow"), (stage("one", lease_ms=5), stage("two", "one", each="list")))
    assert store.tasks.definition("film") is None
    store.tasks.publish(definition)
    store.tasks.publish(definition)
    assert store.tasks.definition("film") == definition
    store.tasks.publish(Definition("film", Terms()))
    assert store.tasks.definition("film") == Definition("film", Terms())


@pytest.mark.parametrize(
    "key", ["'; DROP TABLE task; --", "ключ", "%s %(x)s :x ?", "a" * 512, "\u2028\x1b[31m", "0", " "]
)
def test_any_key_that_may_be_chosen_is_kept_as_it_is(store, worker, key):
    made = store.tasks.submit([job(key, payload={"key": key})])[0]
    assert store.tasks.submit([job(key, payload={"key": key})])[0].id == made.id
    (lease,) = claim(store, worker)
    assert lease.key == key
    assert json.loads(lease.payload) == {"key": key}
