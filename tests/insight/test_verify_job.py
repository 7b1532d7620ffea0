"""`verify JOB`: the tables match the events, and an edit of either is found."""

import contextlib

import pytest

from leasehold import Leasehold, Permanent, Retry, Transient
from leasehold.errors import JobUnknown
from leasehold.insight.verify.verify import verify_job
from leasehold.testing import Clock, drain
from tests.insight.edited_records import edit
from tests.store.work import look

# An effect that no attempt got a result of, so that the journal does not miss it.
EVENT_WITHOUT_TASK = """
INSERT INTO effect (job_id, key, task_id, number, kind, fields, fence, attempt, intended_at)
SELECT job_id, 'f' || key, 4711, number, kind, fields, fence, attempt, intended_at FROM effect WHERE job_id = {job}
"""


def register(app):
    @app.job(retry=Retry(attempts=3, delay_initial=10))
    def order(task, item: str):
        if task.attempt == 1:
            raise Transient("not yet")
        return task.effect("PAY", lambda: {"paid": item}, item=item)

    @app.job
    def refuse():
        raise Permanent("no")

    film = app.pipeline("film")

    @film.stage
    def script(scenes: int):
        return {"scenes": list(range(scenes))}

    @film.stage(after=script, each="scenes")
    def audio(task, scenes: int):
        return task.segment


def work(app) -> dict[str, int]:
    """One job of each kind, ended; and one that waits."""
    register(app)
    clock = Clock(app)
    made = {
        "order": app.submit("order", {"item": "tea"}).id,
        "refuse": app.submit("refuse").id,
        "film": app.submit("film", {"scenes": 3}).id,
    }
    drain(app, clock)
    made["later"] = app.submit("order", {"item": "tea"}, delay=60).id
    return made


@pytest.fixture
def worked(copied):
    return copied(work)


@pytest.fixture
def app(url):
    with contextlib.closing(Leasehold(url)) as app:
        yield app


@pytest.fixture
def done(worked):
    """An app on a copy of the database in which these jobs were done."""
    with contextlib.closing(Leasehold(worked[0])) as app:
        register(app)
        yield app


@pytest.fixture
def jobs(worked) -> dict[str, int]:
    return worked[1]


def task_of(store, job: int, segment: int) -> int:
    return look(store, f"SELECT id FROM task WHERE job_id = {job} AND segment = {segment}")[0][0]  # noqa: S608


def test_jobs_that_nobody_touched_are_equal(done, jobs):
    """S6: the place of every task follows from its events."""
    found = {kind: verify_job(done.store, job) for kind, job in jobs.items()}
    assert {kind: (one.equal, one.difference) for kind, one in found.items()} == dict.fromkeys(jobs, (True, ""))
    assert (found["film"].tasks, found["order"].effects, found["later"].events) == (6, 1, 1)
    assert len({one.head for one in found.values()}) == 4


def test_a_job_that_runs_right_now_is_equal_too(app):
    seen = []

    @app.job
    def watched(task):
        seen.append(verify_job(app.store, task.lease.job_id))

    app.submit(watched)
    app.drain(timeout=60)
    assert [(one.equal, one.events) for one in seen] == [(True, 2)]


def test_a_job_that_does_not_exist_is_reported_as_unknown(app):
    with pytest.raises(JobUnknown):
        app.journal.verify(4711)


@pytest.mark.parametrize(
    ("kind", "statement", "expected"),
    [
        ("order", "UPDATE event SET at = at + 1 WHERE task_id = {job} AND name = 'submitted'", "created_at"),
        (
            "order",
            "UPDATE event SET fence = 7 WHERE task_id = {job} AND name = 'done'",
            "its fence should be 2 and is 7",
        ),
        ("order", "UPDATE event SET name = 'failed' WHERE task_id = {job} AND name = 'done'", "status of the outcome"),
        ("order", "DELETE FROM event WHERE task_id = {job} AND name = 'retried'", "the place before 'advanced'"),
        ("order", "DELETE FROM event WHERE task_id = {job} AND name = 'done'", "the number of its outcomes"),
        ("order", "DELETE FROM event WHERE task_id = {job}", "its first event should be submitted and is missing"),
        ("order", "UPDATE outcome SET status = 'CANCELLED' WHERE task_id = {job}", "should be DONE and is CANCELLED"),
        ("order", "UPDATE outcome SET finished_at = 0 WHERE task_id = {job}", "finished_at of the outcome of epoch 1"),
        ("order", "UPDATE outcome SET epoch = 2 WHERE task_id = {job}", "epoch of the outcome"),
        ("order", "DELETE FROM outcome WHERE task_id = {job}", "the number of its outcomes should be 1 and is 0"),
        ("order", "UPDATE effect SET result = '1' WHERE job_id = {job}", "the digest of its effects"),
        ("order", "DELETE FROM effect WHERE job_id = {job}", "the result of an effect that it used should be"),
        (
            "order",
            "UPDATE effect SET result = NULL WHERE job_id = {job}",
            "the result of an effect that it used should be",
        ),
        ("order", "UPDATE effect SET kind = 'LOOK' WHERE job_id = {job}", "the key of its effect 1 (LOOK) should be"),
        ("order", "UPDATE effect SET fields = '{{}}' WHERE job_id = {job}", "the key of its effect 1 (PAY) should be"),
        ("order", "UPDATE effect SET fields = 'tea' WHERE job_id = {job}", "the key of its effect 1 (PAY) should be"),
        ("order", "UPDATE effect SET key = 'tea' WHERE job_id = {job}", "and is tea"),
        ("order", "UPDATE task SET created_at = 1 WHERE id = {job}", "created_at should be"),
        ("refuse", "UPDATE outcome SET failure = '{{}}' WHERE task_id = {job}", "the failure of epoch 1 should be"),
        ("refuse", "UPDATE outcome SET failure = failure || ' ' WHERE task_id = {job}", "the text of the failure of"),
        ("refuse", "UPDATE outcome SET output = '1' WHERE task_id = {job}", "should be absent and is 1"),
        ("refuse", "DELETE FROM dead_letter WHERE task_id = {job}", "letter of epoch 1 should be there and is missing"),
        ("refuse", "UPDATE dead_letter SET fence = 9 WHERE task_id = {job}", "fence of the dead letter of epoch 1"),
        ("refuse", "UPDATE dead_letter SET epoch = 2 WHERE task_id = {job}", "letter of epoch 1 should be there"),
        ("refuse", "UPDATE dead_letter SET error_class = 'NO' WHERE task_id = {job}", "should be PERMANENT and is NO"),
        ("refuse", "UPDATE dead_letter SET failure = '{{}}' WHERE task_id = {job}", "failure of the dead letter"),
        (
            "refuse",
            "UPDATE dead_letter SET failure = failure || ' ' WHERE task_id = {job}",
            "failure of the dead letter",
        ),
        ("refuse", "UPDATE dead_letter SET last_failure_at = 1 WHERE task_id = {job}", "last_failure_at of the dead"),
        ("order", "UPDATE dead_letter SET task_id = {job}", "letter of epoch 1 should be absent and is there"),
        ("film", "DELETE FROM task WHERE job_id = {job} AND segment = 1", "segment 2 of 'audio' is missing"),
        (
            "film",
            "DELETE FROM task WHERE job_id = {job} AND segment = 2",
            "number of its segments should be 3 and is 2",
        ),
        (
            "film",
            "DELETE FROM task WHERE job_id = {job} AND segment >= 0",
            "number of its segments should be 3 and is 0",
        ),
        (
            "film",
            "DELETE FROM task WHERE job_id = {job} AND stage = 'audio' AND segment IS NULL",
            "stage 'audio' itself is missing",
        ),
        ("later", "UPDATE waiting SET fence = 1 WHERE task_id = {job}", "its fence in 'waiting' should be 0 and is 1"),
        ("later", "UPDATE waiting SET attempt = 3 WHERE task_id = {job}", "its attempt in 'waiting' should be 0"),
        ("later", "UPDATE waiting SET epoch = 2 WHERE task_id = {job}", "its epoch in 'waiting' should be 1 and is 2"),
        ("later", "DELETE FROM waiting WHERE task_id = {job}", "its place should be ready or waiting and is nowhere"),
        (
            "later",
            "INSERT INTO ready (task_id, queue, priority, route, attempt, fence, epoch) VALUES ({job},'',0,'',0,0,1)",
            "its place should be ready or waiting and is waiting and ready",
        ),
    ],
)
def test_whatever_is_edited_is_named(done, jobs, kind, statement, expected):
    """S6: a row that does not match the journal is found."""
    edit(done.store, statement.format(job=jobs[kind]))
    found = verify_job(done.store, jobs[kind])
    assert not found.equal
    assert expected in found.difference, found.difference
    assert found.difference.startswith("task ")


@pytest.mark.parametrize(
    ("kind", "statement", "expected"),
    [
        ("film", "DELETE FROM task WHERE id = {job}", "the row of the job itself"),
        ("film", "DELETE FROM task WHERE job_id = {job} AND stage = 'script'", "there is a need of a task"),
        ("film", "DELETE FROM task WHERE job_id = {job} AND stage = 'audio'", "there is a need of a task"),
        ("order", EVENT_WITHOUT_TASK, "of a task (id 4711) that is missing"),
    ],
)
def test_what_is_left_of_a_task_that_is_missing_is_named(done, jobs, kind, statement, expected):
    edit(done.store, statement.format(job=jobs[kind]))
    found = verify_job(done.store, jobs[kind])
    assert not found.equal
    assert expected in found.difference, found.difference


def test_events_that_changed_places_are_found(done, jobs):
    job = jobs["order"]
    ids = [row[0] for row in look(done.store, f"SELECT id FROM event WHERE task_id = {job} ORDER BY id")]  # noqa: S608
    names = look(done.store, f"SELECT name FROM event WHERE task_id = {job} ORDER BY id")  # noqa: S608
    edit(done.store, f"UPDATE event SET name = '{names[2][0]}' WHERE id = {ids[3]}")  # noqa: S608
    edit(done.store, f"UPDATE event SET name = '{names[3][0]}' WHERE id = {ids[2]}")  # noqa: S608
    found = verify_job(done.store, job)
    assert not found.equal
    assert f"(id {ids[2]})" in found.difference


def test_one_bad_segment_among_good_ones_is_named(done, jobs):
    task = task_of(done.store, jobs["film"], 2)
    edit(done.store, f"UPDATE outcome SET fence = 9 WHERE task_id = {task}")  # noqa: S608
    found = verify_job(done.store, jobs["film"])
    assert found.difference == "task 5 (audio [3]), fence of the outcome of epoch 1 should be 1 and is 9"


def test_the_head_of_a_settled_job_stays_what_it_was(done, jobs):
    before = verify_job(done.store, jobs["order"]).head
    assert verify_job(done.store, jobs["order"]).head == before
    edit(done.store, f"UPDATE event SET worker = NULL WHERE task_id = {jobs['order']}")  # noqa: S608
    assert verify_job(done.store, jobs["order"]).head != before


def test_attempts_that_ask_in_other_orders_are_equal_until_a_result_is_edited(app):
    orders = ["ab", "ca", "bcad"]

    @app.job(retry=Retry(attempts=3, delay_initial=10))
    def fickle(task):
        for name in orders[task.attempt - 1]:
            task.effect("LOOK", lambda name=name: name, name=name)
        if task.attempt < 3:
            raise Transient("not yet")

    job = app.submit(fickle).id
    drain(app, Clock(app))
    assert verify_job(app.store, job).difference == ""
    edit(app.store, f"UPDATE effect SET result = '1' WHERE job_id = {job} AND attempt = 2")  # noqa: S608
    assert "the digest of its effects" in verify_job(app.store, job).difference


def test_one_of_many_effects_that_is_edited_or_missing_is_found(app):
    @app.job
    def many(task):
        for number in range(20):
            task.effect("LOOK", lambda: None, number=number)

    job = app.submit(many).id
    app.drain(timeout=60)
    assert verify_job(app.store, job).difference == ""
    edit(app.store, f"UPDATE effect SET result = '1' WHERE job_id = {job} AND number = 7")  # noqa: S608
    assert "the digest of its effects" in verify_job(app.store, job).difference
    edit(app.store, f"DELETE FROM effect WHERE job_id = {job} AND number = 7")  # noqa: S608
    assert "the result of an effect that it used should be" in verify_job(app.store, job).difference


def test_fan_outs_over_nothing_and_over_no_list_are_equal(app):
    show = app.pipeline("show")

    @show.stage
    def cast(scenes: object):
        return {"scenes": scenes}

    @show.stage(after=cast, each="scenes")
    def play(task, scenes: object):
        if task.segment == 1:
            raise Permanent("no")

    made = [app.submit("show", {"scenes": scenes}).id for scenes in ([], "none", [1, 2])]
    app.drain(timeout=60)
    assert [verify_job(app.store, job).difference for job in made] == ["", "", ""]
