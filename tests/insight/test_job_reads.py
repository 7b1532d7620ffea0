"""What a program reads of its jobs: tasks, counts, progress, a job by its key, and pages of jobs."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold import JobProgress, Permanent, TaskCounts, TaskView
from leasehold.errors import OptionInvalid
from leasehold.model.names import key_range
from tests.support.wait import until

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


def add_film(app):
    film = app.pipeline("film")

    @film.stage
    def script(scenes: int):
        return {"scenes": list(range(scenes))}

    @film.stage(after=script, each="scenes")
    def audio(task):
        if task.segment == 1:
            raise Permanent("no voice")

    @film.stage(after=audio)
    def render():
        """Never runs: a scene failed."""

    return film


def test_a_plain_job_is_one_task_with_its_attempt_and_its_end(app):
    @app.job(queue="mail")
    def greet(name: str): ...

    job = greet.submit({"name": "Ada"})
    (task,) = job.tasks
    assert isinstance(task, TaskView)
    assert (task.id, task.stage, task.segment, task.queue) == (job.id, None, None, "mail")
    assert (task.status, task.attempt, task.attempts_max, task.finished_at) == ("READY", 0, 5, None)
    assert (str(job.counts), job.progress) == ("0 of 1", None)
    app.drain()
    (task,) = job.tasks
    assert (task.status, task.attempt, task.finished_at) == ("DONE", 1, job.finished_at)
    assert job.counts == TaskCounts(1, done=1)


def test_a_pipeline_has_its_stages_and_segments_as_tasks_and_counts_segments(app):
    job = app.submit(add_film(app), {"scenes": 3})
    assert (str(job.counts), str(job.progress)) == ("0 of 3", "0 of 3")  # no stage has fanned out yet
    app.drain()
    assert [(task.stage, task.segment, task.status, task.attempt) for task in job.tasks] == [
        (None, None, "ERROR", 0),
        ("script", None, "DONE", 1),
        ("audio", None, "ERROR", 0),
        ("render", None, "CANCELLED", 0),
        ("audio", 0, "DONE", 1),
        ("audio", 1, "ERROR", 1),
        ("audio", 2, "DONE", 1),
    ]
    assert [task.failure["message"] for task in job.tasks if task.segment == 1] == ["Permanent: no voice"]
    counts = job.counts
    assert (counts.total, counts.done, counts.error, counts.cancelled, str(counts)) == (5, 3, 1, 1, "3 of 5")
    assert {stage: str(found) for stage, found in counts.stages.items()} == {
        "script": "1 of 1",
        "render": "0 of 1",
        "audio": "2 of 3",
    }
    assert job.progress == JobProgress(3, 5)


def test_the_progress_of_a_job_is_what_its_running_handler_last_reported(app):
    gate = threading.Event()

    @app.job
    def copy(task):
        task.progress(312, 500, "files")
        gate.wait(60)

    job = copy.submit()
    worker = threading.Thread(target=app.drain)
    worker.start()
    try:
        until(lambda: job.progress)
        assert (job.progress, str(job.progress)) == (JobProgress(312, 500, "files"), "312 of 500 files")
        assert [task.progress.done for task in job.tasks] == [312]
    finally:
        gate.set()
        worker.join()
    assert (job.status, job.progress) == ("DONE", None)


def test_a_job_is_found_by_its_kind_and_key_or_not_at_all(app):
    @app.job
    def order(number: int): ...

    first, second = order.submit({"number": 1}, key="7"), order.submit({"number": 2}, key="8", version=3)
    assert app.find(order, "7").id == app.find("order", "7").id == first.id
    assert app.find("order", "8", version=3).payload == second.payload
    assert app.find("order", "8") is app.find("order", "8", version=2) is app.find("other", "7") is None
    with pytest.raises(OptionInvalid):
        app.find("order", "")


def test_pages_of_jobs_continue_before_the_last_one_and_repeat_nothing_that_was_submitted_meanwhile(app):
    @app.job
    def step(n: int): ...

    made = app.submit_many(step, [{"n": n} for n in range(7)])
    page = app.jobs(limit=3)
    seen = [job.id for job in page]
    while page:
        step.submit({"n": 99})  # newer than every page
        page = app.jobs(limit=3, before=page[-1])
        seen += [job.id for job in page]
    assert seen == [job.id for job in reversed(made)]
    assert [job.id for job in app.jobs(before=made[2].id, status="READY")] == [made[1].id, made[0].id]


def test_jobs_are_listed_by_the_start_of_their_keys_in_which_every_character_is_itself(app):
    @app.job
    def a(n: int = 0): ...

    @app.job
    def b(n: int = 0): ...

    keys = [
        "a%b/1",
        "a%b/2",
        "a_b/1",
        "axb/1",
        "A%B/1",
        "é/1",
        "ü/1",
        "z",
        "\U0010ffff\U0010ffffx",
        "\ud7ff1",
        "\ue0001",
    ]
    for key in keys:
        a.submit(key=key)
        b.submit(key=key)
    for prefix in ["a", "a%", "a%b/", "a_", "é", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffff", "none"]:
        expected = [key for key in reversed(keys) if key.startswith(prefix)]
        assert [job.key for job in app.jobs(kind="a", key_prefix=prefix)] == expected, prefix
    newest = app.jobs(kind="a", key_prefix="a")[0]
    assert [job.key for job in app.jobs(kind="a", key_prefix="a", before=newest, limit=2)] == ["a_b/1", "a%b/2"]
    app.drain()
    assert [job.key for job in app.jobs(kind="b", key_prefix="a%", status="DONE")] == ["a%b/2", "a%b/1"]
    assert app.jobs(kind="b", key_prefix="a%", status="READY") == []
    assert app.jobs(kind="b", key_prefix="a%", queue="other") == []


def test_a_key_prefix_without_a_kind_is_refused_since_no_index_would_find_it(app):
    with pytest.raises(OptionInvalid, match="pass the kind"):
        app.jobs(key_prefix="a")


@pytest.mark.parametrize("before", [0, -1, "7", 1.5])
def test_a_page_continues_before_an_id_and_nothing_else(app, before):
    with pytest.raises(OptionInvalid):
        app.jobs(before=before)


@given(KEYS, KEYS)
def test_the_range_of_a_prefix_holds_exactly_the_keys_that_start_with_it(prefix, key):
    low, high = key_range(prefix)
    for one in (key, prefix + key, prefix, key + prefix):
        assert (low <= one < high) == one.startswith(prefix)
        assert (low.encode() <= one.encode() < high.encode()) == one.startswith(prefix)
