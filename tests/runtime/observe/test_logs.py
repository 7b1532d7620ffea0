"""What the engine and its handlers log: one line an event, and no secret in it (S16)."""

import logging
import threading
from pathlib import Path

import pytest

from leasehold import Permanent, Retry
from leasehold.redact import RedactionFailed, register
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.observe.logs import TOO_MUCH, Log, clean
from leasehold.store.db.database import one_line
from tests.support.db import rows
from tests.support.processes.local_worker import run_worker
from tests.support.wait import until

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG)
    return Log("leasehold.task", task=7)


def test_a_line_is_its_event_with_context_and_fields(log, caplog):
    log.info("rendered", frames=24, title="two words")
    assert caplog.messages == ["rendered task=7 frames=24 title='two words'"]


def test_s16_no_secret_reaches_a_log_by_message_argument_or_field(log, caplog):
    register("correct horse battery")
    log.warning("calling with %s", TOKEN)
    log.warning("header Authorization: Bearer %s", TOKEN)
    log.warning("sent", password="hunter2secret", url="postgresql://me:s3cretword@db/x", words="correct horse battery")  # noqa: S106
    for secret in (TOKEN, "hunter2secret", "s3cretword", "correct horse battery"):
        assert secret not in caplog.text
    assert caplog.text.count("[REDACTED:") >= 5


def test_s16_no_secret_reaches_a_log_by_a_traceback(log, caplog):
    try:
        int(f"bad {TOKEN}")
    except ValueError:
        log.exception("failed")
    assert "ValueError: invalid literal" in caplog.text
    assert TOKEN not in caplog.text


def test_s16_trouble_of_a_part_is_reported_without_the_password_in_its_url(caplog):
    caplog.set_level(logging.DEBUG)
    EventLog(worker=1).component_failed("upkeep", RuntimeError("cannot reach postgresql://me:s3cretword@db/x"))
    assert "s3cretword" not in caplog.text
    assert "component_failed" in caplog.text


def test_a_line_that_cannot_be_redacted_is_withheld():
    def refuse(text):
        raise RedactionFailed("no")

    assert clean("secret stuff", refuse) == "(withheld: a line that could not be redacted)"


def test_a_message_whose_arguments_do_not_fit_is_logged_all_the_same(log, caplog):
    log.info("%d of", "many")
    assert "%d of ('many',)" in caplog.text
    assert caplog.records[0].filename == "test_logs.py"


def test_s16_extra_fields_and_stacks_are_redacted_too(log, caplog):
    log.info("called", extra={"header": TOKEN}, stack_info=True)
    assert TOKEN not in caplog.text
    assert TOKEN not in vars(caplog.records[0])["header"]
    assert "test_logs.py" in caplog.messages[0]
    assert caplog.records[0].stack_info is None


def extra_of(log, caplog, **extra):
    log.warning("called", extra=extra)
    return {name: vars(caplog.records[-1])[name] for name in extra}


def test_s16_containers_in_extra_fields_are_redacted_wherever_the_secret_stands(log, caplog):
    found = extra_of(
        log, caplog, two={"a": TOKEN}, three=[TOKEN], four=({"x": {TOKEN: [{TOKEN}]}},), five=frozenset([TOKEN])
    )
    assert TOKEN not in repr(found)
    assert list(map(type, found.values())) == [dict, list, tuple, frozenset]
    assert repr(found).count("[REDACTED:") == 5


def test_s16_extra_fields_are_redacted_for_the_name_they_stand_under(log, caplog):
    found = extra_of(log, caplog, password="hunter2 secret", login={"user": "ada", "password": "hunter2"})  # noqa: S106
    assert found["password"].startswith("[REDACTED:")
    assert found["login"]["user"] == "ada"
    assert found["login"]["password"].startswith("[REDACTED:")


def test_s16_things_in_extra_fields_that_would_show_a_secret_are_replaced_by_their_text(log, caplog):
    path = Path("/tmp/x")
    found = extra_of(log, caplog, error=ValueError(f"bad {TOKEN}"), raw=TOKEN.encode(), path=path, count=7, none=None)
    assert TOKEN not in repr(found)
    assert found["error"].startswith("bad [REDACTED:")
    assert (found["path"], found["count"], found["none"]) == (path, 7, None)


def test_s16_extra_fields_beyond_what_can_be_looked_at_are_withheld(log, caplog):
    class Broken:
        def __str__(self):
            raise ValueError

    deep: list = [TOKEN]
    for _ in range(100):
        deep = [deep]
    round_about: dict = {}
    round_about["again"] = round_about
    many = [f"{number}" for number in range(100_000)] + [TOKEN]
    found = extra_of(log, caplog, deep=deep, round=round_about, broken=[Broken()], many=many, last=TOKEN)
    assert TOKEN not in repr(found)
    assert all(TOO_MUCH in repr(value) for value in found.values())
    assert len(found["many"]) < 2_000


def test_s16_trouble_of_a_part_is_redacted_before_it_is_cut(caplog):
    caplog.set_level(logging.DEBUG)
    for padding in range(440, 500):  # the cut falls into the password
        EventLog(worker=1).component_failed(
            "upkeep", RuntimeError("x" * padding + " postgresql://me:s3cretwordofmine@db/x")
        )
    assert "s3cret" not in caplog.text


def test_s16_a_drivers_text_is_redacted_before_it_is_cut():
    for padding in range(240, 300):
        line = one_line(RuntimeError("x" * padding + " postgresql://me:s3cretwordofmine@db/x"))
        assert "s3cret" not in line
        assert len(line) <= 300
    assert one_line(RuntimeError(" two \n lines ")) == "two lines"
    assert one_line(RuntimeError()) == "RuntimeError"


def test_s16_no_secret_reaches_the_database_by_progress(app, url):
    """Also one that the cut would have halved, and one that is where a number belongs."""
    seen: list[str] = []

    def is_news():
        [(progress,)] = rows(url, "SELECT progress FROM lease")
        if progress is None or progress in seen:
            return False
        seen.append(progress)
        return True

    @app.job
    def log_secrets(task):
        for report in ((1, 2, f"with {TOKEN}"), (3, 4, "x" * 470 + f" {TOKEN}"), (5, {"of": TOKEN}), (f"at {TOKEN}",)):
            task.progress(*report)
            until(is_news)

    job = log_secrets.submit()
    app.drain(timeout=60)
    assert job.status == "DONE", job.failure
    assert len(seen) == 4
    assert TOKEN[:12] not in repr(seen)
    assert "[REDACTED:" in repr(seen[0])


def test_a_field_that_cannot_be_read_does_not_end_the_attempt_that_logs_it(log, caplog):
    class Broken:
        def __str__(self):
            raise ValueError

    log.info("odd", field=Broken())
    assert "which cannot be read" in caplog.text


def lines_of(caplog, event):
    return [line for line in caplog.messages if line.startswith(event)]


def test_the_line_of_a_failed_attempt_has_the_type_and_the_redacted_message(app, caplog):
    @app.job(retry=Retry(attempts=2, delay_initial=0))
    def send():
        raise OSError(f"refused by postgresql://me:s3cretword@db/x with {TOKEN}")

    with caplog.at_level(logging.INFO, logger="leasehold"):
        send.submit()
        app.drain(timeout=60)
    first, second = lines_of(caplog, "attempt_failed")
    assert "error='OSError: refused by postgresql://" in first
    assert (first.endswith("ending=RETRY"), second.endswith("ending=ERROR")) == (True, True)
    assert "s3cretword" not in caplog.text
    assert TOKEN not in caplog.text
    assert lines_of(caplog, "attempt_traceback") == []


def test_a_line_about_a_stage_names_its_job_and_its_own_task(app, caplog):
    film = app.pipeline("film")

    @film.stage
    def script(task):
        task.log.warning("out of ink")
        raise Permanent("no ink")

    with caplog.at_level(logging.INFO, logger="leasehold"):
        job = film.submit({})
        app.drain(timeout=60)
    [stage] = [one.id for one in job.tasks if one.stage == "script"]
    assert stage != job.id
    for event in ("attempt_failed", "out of ink"):
        [line] = lines_of(caplog, event)
        assert f" job={job.id} task={stage} route=film/script attempt=1" in line


def test_the_traceback_of_a_failed_attempt_is_logged_when_asked_for(app, caplog):
    @app.job(retry=Retry(attempts=1))
    def send():
        raise OSError("refused")

    with caplog.at_level(logging.DEBUG, logger="leasehold.tracebacks"):
        send.submit()
        app.drain(timeout=60)
    [traceback] = lines_of(caplog, "attempt_traceback")
    assert "test_logs.py" in traceback
    assert "in send" in traceback


def test_an_attempt_of_a_cancelled_job_is_logged_as_cancelled_whatever_it_raised(app, url, caplog):
    running, cancelled = threading.Event(), threading.Event()

    @app.job
    def waits():
        running.set()
        cancelled.wait(60)
        raise OSError("in the middle")

    with caplog.at_level(logging.INFO, logger="leasehold"), run_worker(url, waits):
        job = waits.submit()
        running.wait(60)
        job.cancel("enough")
        cancelled.set()
        job.wait(60)
        until(lambda: lines_of(caplog, "attempt_cancelled"))
    assert job.status == "CANCELLED"
    assert lines_of(caplog, "attempt_failed") == []


def test_a_lost_lease_is_not_logged_as_a_failed_attempt(app, url, caplog):
    running, lost = threading.Event(), threading.Event()

    @app.job(retry=Retry(attempts=1), lease=30)
    def waits():
        running.set()
        lost.wait(60)
        raise OSError("too late")

    with caplog.at_level(logging.INFO, logger="leasehold"), run_worker(url, waits):
        waits.submit()
        running.wait(60)
        rows(url, "DELETE FROM lease RETURNING task_id")
        lost.set()
        until(lambda: lines_of(caplog, "lease_lost"))
    assert lines_of(caplog, "attempt_failed") == []
