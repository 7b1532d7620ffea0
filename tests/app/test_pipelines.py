"""Pipelines end to end: stages in order, segments at once, failures that stay where they belong, cancels that hold."""

import re
import threading
from typing import TypedDict

import pytest

from leasehold import Permanent, Retry, Transient
from leasehold.errors import ArgumentsInvalid, GraphInvalid, KindTaken, KindUnknown, OptionInvalid
from tests.support.db import check_journal, check_places, names, rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until


def stages(app, job):
    """Return (status, message) of each stage or segment, by name."""
    found = {}
    for task in app.store.reports.tasks(job.id):
        if task.stage is not None:
            found[task.stage if task.segment is None else f"{task.stage}[{task.segment}]"] = task.status
    return found


@pytest.fixture
def film(app):
    film = app.pipeline("film")

    @film.stage
    def script(task, path):
        return {"scenes": [f"{path}-{number}" for number in range(4)]}

    @film.stage(after=script, each="scenes")
    def audio(task, path):
        if task.segment == f"{path}-2" and path == "spoilt":
            raise Permanent("no voice")
        return f"sound of {task.segment} of {len(task.inputs['script']['scenes'])}"

    @film.stage(after=script)
    async def music(task, path):
        return {"length": len(task.inputs["script"]["scenes"])}

    @film.stage(after=[audio, "music"])
    def render(task, path):
        return {"audio": task.inputs["audio"], "music": task.inputs["music"], "segment": task.segment}

    return film


def test_a_pipeline_runs_its_stages_in_order_and_its_segments_each_once(app, film, url):
    job = app.submit(film, {"path": "a.md"}, key="a.md", priority=5)
    assert job.status == "NEW"
    app.drain()
    assert job.status == "DONE"
    assert job.output == {
        "render": {
            "audio": [f"sound of a.md-{number} of 4" for number in range(4)],
            "music": {"length": 4},
            "segment": None,
        }
    }
    assert rows(url, "SELECT DISTINCT priority FROM task") == [(5,)]
    check_places(url)
    check_journal(url)


def test_submitting_a_pipeline_again_returns_the_job_that_is_there(app, film, url):
    first = film.submit({"path": "a.md"}, key="a.md")
    assert app.submit("film", {"path": "a.md"}, key="a.md").id == first.id
    assert rows(url, "SELECT count(*) FROM task") == [(5,)]


def test_a_delayed_pipeline_starts_when_it_is_due(app, film):
    job = film.submit({"path": "a.md"}, delay=0.5)
    app.drain()
    assert job.status == "DONE"
    assert (job.finished_at - job.created_at).total_seconds() >= 0.5


def test_a_segment_that_fails_stops_neither_its_siblings_nor_hides_the_cause(app, film, url):
    job = film.submit({"path": "spoilt"})
    app.drain()
    assert stages(app, job) == {
        "script": "DONE",
        "audio": "ERROR",
        "audio[0]": "DONE",
        "audio[1]": "DONE",
        "audio[2]": "ERROR",
        "audio[3]": "DONE",
        "music": "DONE",
        "render": "CANCELLED",
    }
    assert job.status == "ERROR"
    assert job.failure["error_class"] == "PERMANENT"
    assert "audio" in job.failure["message"]
    assert "no voice" in job.failure["message"]
    [(reason,)] = rows(url, "SELECT failure FROM outcome WHERE status = 'CANCELLED'")
    assert "PREREQUISITE_FAILED" in reason
    assert "audio" in reason
    check_places(url)
    check_journal(url)


def test_an_empty_list_makes_no_segments_and_the_pipeline_goes_on(app):
    film = app.pipeline("film")

    @film.stage
    def script():
        return {"scenes": []}

    @film.stage(after=script, each="scenes")
    def audio():
        raise AssertionError("it ran")

    @film.stage(after=audio)
    def render(task):
        return task.inputs

    job = film.submit()
    app.drain()
    assert job.output == {"render": {"audio": []}}


@pytest.mark.parametrize("output", [{"scenes": "abc"}, {"scenes": {"a": 1}}, {"other": []}, ["scenes"], None, 3])
def test_each_over_something_that_is_not_a_list_is_an_error_with_a_code(app, output):
    film = app.pipeline("film")

    @film.stage
    def script():
        return output

    @film.stage(after=script, each="scenes")
    def audio(): ...

    job = film.submit()
    app.drain()
    assert job.status == "ERROR"
    assert job.failure["error_class"] == "EACH_INVALID"
    assert stages(app, job) == {"script": "DONE", "audio": "ERROR"}


def many_segments(app):
    """A pipeline whose payload is its number of segments; they wait in a queue of their own."""
    film = app.pipeline("film")

    @film.stage
    def script(number: int):
        return {"scenes": [0] * number}

    @film.stage(after=script, each="scenes", queue="voices")
    async def audio(number: int): ...

    return film


def test_more_segments_than_the_limit_are_an_error_with_a_code(app, url):
    film = many_segments(app)
    most, more = film.submit({"number": 10_000}), film.submit({"number": 10_001})
    app.drain(queues=["default"])
    assert (more.status, more.failure["error_class"]) == ("ERROR", "FAN_OUT_TOO_LARGE")
    assert most.status == "RUNNING"
    assert rows(url, "SELECT count(*) FROM ready") == [(10_000,)]


@pytest.mark.soak
def test_as_many_segments_as_the_limit_all_run(app):
    most = many_segments(app).submit({"number": 10_000})
    app.drain(concurrency=500)
    assert most.output == {"audio": [None] * 10_000}


def test_s12_attempts_are_counted_for_each_stage_by_itself(app, url):
    film = app.pipeline("film")
    seen = []

    @film.stage(retry=Retry(attempts=3, delay_initial=0))
    def first(task):
        seen.append(("first", task.attempt))
        if task.attempt < 3:
            raise Transient("not yet")

    @film.stage(after=first, retry=Retry(attempts=2, delay_initial=0))
    def second(task):
        seen.append(("second", task.attempt))
        if task.attempt < 2:
            raise Transient("not yet")

    job = film.submit()
    app.drain()
    assert job.status == "DONE"
    assert seen == [("first", 1), ("first", 2), ("first", 3), ("second", 1), ("second", 2)]


def test_a_cancelled_pipeline_ends_with_all_its_tasks_and_the_cancel_comes_first(app, url):
    """S10: the cancel precedes and names the end it caused."""
    film = app.pipeline("film")
    started, stopped = threading.Event(), threading.Event()

    @film.stage
    def script(task):
        started.set()
        until(lambda: task.cancelled)
        stopped.set()
        return {"scenes": [1]}

    @film.stage(after=script, each="scenes")
    def audio(): ...

    job = film.submit()
    with run_worker(url, film):
        assert started.wait(60)
        app.cancel(job, reason="the customer left")
        assert stopped.wait(60)
        until(lambda: "RUNNING" not in stages(app, job).values())
    assert job.status == "CANCELLED"
    assert stages(app, job) == {"script": "CANCELLED", "audio": "CANCELLED"}
    [failure] = {failure for (failure,) in rows(url, "SELECT failure FROM outcome")}
    assert failure.endswith('"error_class":"CANCELLED","message":"the customer left","retryable":false}')
    assert job.failure["context"]["cancelled_job"] == f"film {job.key}"
    [(job_id,)] = rows(url, "SELECT id FROM task WHERE stage IS NULL")
    [(script_id,)] = rows(url, "SELECT id FROM task WHERE stage = 'script'")
    ended = {task: line for line, task in rows(url, "SELECT id, task_id FROM event WHERE name = 'cancelled'")}
    assert ended[job_id] < ended[script_id]
    assert names(url, script_id) == ["submitted", "claimed", "asked", "cancelled"]
    check_places(url)


def test_stages_of_one_pipeline_may_wait_in_queues_of_their_own(app):
    film = app.pipeline("film")

    @film.stage(queue="cpu")
    def first():
        return 1

    @film.stage(after=first, queue="gpu")
    def second(task):
        return task.inputs["first"] + 1

    job = film.submit()
    app.drain(queues=["cpu"])
    assert stages(app, job) == {"first": "DONE", "second": "READY"}
    app.drain(queues=["gpu"])
    assert job.output == {"second": 2}


def test_a_pipeline_that_cannot_run_is_refused_when_it_is_written_or_submitted(app):
    film = app.pipeline("film")
    with pytest.raises(GraphInvalid):
        film.submit()
    with pytest.raises(GraphInvalid, match="waits for itself"):
        film.stage(after="alone", name="alone")(lambda: None)
    with pytest.raises(GraphInvalid, match="does not exist"):
        film.stage(after="nobody", name="second")(lambda: None)
    with pytest.raises(GraphInvalid, match="waits for no stage"):
        film.stage(each="scenes", name="third")(lambda: None)

    @film.stage
    def script(): ...

    with pytest.raises(KindTaken):
        film.stage(name="script")(lambda: None)
    with pytest.raises(KindTaken):
        app.pipeline("film")
    with pytest.raises(KindUnknown):
        app.submit(script)


class Script(TypedDict):
    scenes: list[str]
    length: int


def test_a_fan_out_that_can_never_have_a_list_is_refused_when_it_is_written(app):
    film, other = app.pipeline("film"), app.pipeline("other")

    @film.stage
    def script() -> Script:
        return {"scenes": ["a", "b"], "length": 2}

    @film.stage(after=script)
    def title() -> str:
        return "Metropolis"

    @film.stage(after=script, each="scenes")
    def audio(): ...

    @other.stage(name="script")
    def foreign(): ...

    for after, each, words in [
        (audio, "parts", "'audio', which fans out itself and so has many outputs and no field; put a stage in between"),
        ([audio, script], "scenes", "'audio', which fans out itself"),
        (script, "scene", "returns Script with scenes, length. Did you mean 'scenes'?"),
        (script, "length", "returns Script with length of type int."),
        (title, "letters", "returns str; return {'letters': [...]} there"),
        (foreign, "scenes", "'script' is a stage of another pipeline ('other'), not of 'film'"),
        (foreign, None, "'script' is a stage of another pipeline"),
        ("skript", None, "waits for 'skript', which does not exist. Did you mean 'script'?"),
    ]:
        with pytest.raises(GraphInvalid, match=re.escape(words)):
            film.stage(after=after, each=each, name="next")(lambda: None)
    for after in (print, 7, [None]):
        with pytest.raises(OptionInvalid, match="after is a stage of 'film', the name of one, or several; got"):
            film.stage(after=after, name="next")(lambda: None)


def test_fan_outs_that_are_joined_repeated_or_empty_run(app):
    film = app.pipeline("film")

    @film.stage
    def script():
        return {"scenes": [1, 2, 3], "none": []}

    @film.stage(after=[script, "script"], each="scenes")
    def audio(task):
        return task.segment

    @film.stage(after=script, each="none")
    def credits_(task): ...

    film.stage(after=[script, audio], each="scenes", name="video")(lambda task: [task.segment, task.inputs["audio"]])

    @film.stage(after=[audio, "video", credits_])
    def render(task):
        return {"total": sum(task.inputs["audio"]), "frames": task.inputs["video"], "rest": task.inputs["credits_"]}

    job = film.submit()
    app.drain(timeout=60)
    frames = [[number, [1, 2, 3]] for number in (1, 2, 3)]
    assert job.output == {"render": {"total": 6, "frames": frames, "rest": []}}


def test_a_generator_is_no_handler(app):
    def rows():
        yield 1

    async def more():
        yield 1

    for function in (rows, more):
        with pytest.raises(OptionInvalid, match="is a generator"):
            app.job(function)


def test_a_stage_takes_the_payload_fields_it_asks_for_and_no_less_than_it_needs(app):
    film = app.pipeline("film")

    @film.stage
    def little(path): ...

    @film.stage(after=little)
    def all_of_it(**fields):
        return fields

    job = film.submit({"path": "a.md", "size": 3})
    app.drain()
    assert job.output == {"all_of_it": {"path": "a.md", "size": 3}}
    with pytest.raises(ArgumentsInvalid, match="missing: path"):
        film.submit({"size": 3})
