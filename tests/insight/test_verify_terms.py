"""`verify` knows on what terms a task was submitted, and with how many stages: edits and missing rows are named."""

# ruff: noqa: S608 — the tests edit tables by name

import contextlib

import pytest

from leasehold import Leasehold
from leasehold.insight.verify.verify import verify_job
from tests.insight.edited_records import difference, edit, forge
from tests.store.work import look


@pytest.fixture
def app(url):
    with contextlib.closing(Leasehold(url)) as app:

        @app.job
        def plain(n: int):
            return n

        film = app.pipeline("film")

        @film.stage
        def script(scenes: int):
            return {"scenes": list(range(scenes)), "acts": [1]}

        @film.stage(after=script, each="scenes")
        def audio(task, scenes: int):
            return task.segment

        @film.stage
        def poster(scenes: int):
            return None

        yield app


@pytest.fixture
def jobs(app) -> dict[str, int]:
    """A plain job, a pipeline's, and one that nobody has begun."""
    made = {"plain": app.submit("plain", {"n": 1}).id, "film": app.submit("film", {"scenes": 2}).id}
    app.drain(timeout=60)
    made["later"] = app.submit("film", {"scenes": 2}, delay=60).id
    return made


TERMS = [
    "queue = 'other'",
    "priority = 9",
    "attempts_max = 99",
    "lease_ms = 1",
    "on_lost = 'bury'",
    "epoch = 2",
    "each_field = 'acts'",
    "key = 'other'",
]


@pytest.mark.parametrize("term", TERMS)
def test_a_term_of_a_job_that_was_edited_is_found(app, jobs, term):
    edit(app.store, f"UPDATE task SET {term} WHERE id = {jobs['plain']}")
    assert "event 1 (id 1, 'submitted') does not fit the chain: it or what the task was" in (
        difference(app.store, jobs["plain"])
    )


@pytest.mark.parametrize("term", [*TERMS, "item = '7'"])
@pytest.mark.parametrize("where", ["stage = 'poster'", "stage = 'audio' AND segment IS NULL", "segment = 1"])
def test_a_term_of_a_stage_or_segment_that_was_edited_is_found(app, jobs, term, where):
    edit(app.store, f"UPDATE task SET {term} WHERE job_id = {jobs['film']} AND {where}")
    assert difference(app.store, jobs["film"]).startswith("task ")


def test_a_term_that_was_edited_before_anything_ran_is_found(app, jobs):
    assert difference(app.store, jobs["later"]) == ""
    edit(app.store, f"UPDATE task SET attempts_max = 1 WHERE job_id = {jobs['later']} AND stage = 'script'")
    assert "what the task was submitted with was changed" in difference(app.store, jobs["later"])


@pytest.mark.parametrize("change", ["queue = 'other'", "priority = 9", "route = 'film/poster'"])
def test_a_term_that_was_edited_where_the_task_stands_ready_is_found(app, change):
    job = app.submit("plain", {"n": 2}).id
    assert difference(app.store, job) == ""
    edit(app.store, f"UPDATE ready SET {change} WHERE task_id = {job}")
    assert f"its {change.partition(' ')[0]} in 'ready' should be" in difference(app.store, job)


def without(table: str, job: int, stage: str) -> str:
    return f"DELETE FROM {table} WHERE task_id IN (SELECT id FROM task WHERE job_id = {job} AND stage = '{stage}')"


def test_a_lone_stage_that_was_removed_with_all_that_is_of_it_is_missed(app, jobs):
    tables = ("event", "outcome", "unsettled", "need")
    edit(
        app.store,
        *(without(table, jobs["film"], "poster") for table in tables),
        f"DELETE FROM task WHERE job_id = {jobs['film']} AND stage = 'poster'",
    )
    assert difference(app.store, jobs["film"]) == "task 0, the number of its stages should be 3 and is 2"


def test_a_stage_that_was_added_is_found(app, jobs):
    terms = "kind, stage, queue, priority, attempts_max, lease_ms, on_lost, created_at"
    copied = f"SELECT {jobs['plain']}, {jobs['plain']}, {terms} FROM task"
    edit(
        app.store,
        f"INSERT INTO task (job_id, parent_id, {terms}) {copied} WHERE job_id = {jobs['film']} AND stage = 'poster'",
    )
    assert "task 1 (poster), event 1" in difference(app.store, jobs["plain"])


def test_a_stage_that_went_to_another_job_is_found_in_both(app, jobs):
    moved = f"UPDATE task SET job_id = {jobs['plain']}, parent_id = {jobs['plain']}"
    edit(app.store, f"{moved} WHERE job_id = {jobs['film']} AND stage = 'poster'")
    assert "the number of its stages should be 3 and is 2" in difference(app.store, jobs["film"])
    assert "what the task was submitted with was changed" in difference(app.store, jobs["plain"])


def test_a_need_that_was_removed_is_missed(app, jobs):
    edit(app.store, without("need", jobs["film"], "audio"))
    assert "(audio), the number of stages it comes after should be 1 and is 0" in difference(app.store, jobs["film"])


@pytest.mark.parametrize(
    ("stage", "expected"),
    [("poster", "task 0: the number of its stages should be 3 and is 2"), ("script", "'script' itself")],
)
def test_a_stage_that_was_taken_out_of_a_record_is_missed(app, jobs, tmp_path, stage, expected):
    def change(records):
        records[:] = [one for one in records if one.task.stage != stage]

    assert expected in forge(app, jobs["film"], tmp_path, change)


def test_jobs_that_nobody_touched_are_equal(app, jobs):
    assert [verify_job(app.store, job).difference for job in jobs.values()] == ["", "", ""]
    assert look(app.store, "SELECT count(*) FROM event WHERE mark IS NULL") == [(0,)]
