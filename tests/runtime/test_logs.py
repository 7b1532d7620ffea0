"""What the engine and its handlers log: one line an event, and no secret in it (S16)."""

import logging

import pytest

from leasehold.redact import RedactionFailed, register
from leasehold.runtime.logs import Log, clean
from leasehold.runtime.notices import Notices

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


def test_s16_trouble_of_a_part_is_told_without_the_password_in_its_url(caplog):
    caplog.set_level(logging.DEBUG)
    Notices(worker=1).part_failed("upkeep", RuntimeError("cannot reach postgresql://me:s3cretword@db/x"))
    assert "s3cretword" not in caplog.text
    assert "part_failed" in caplog.text


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


def test_a_field_that_cannot_be_read_does_not_end_the_attempt_that_logs_it(log, caplog):
    class Broken:
        def __str__(self):
            raise ValueError

    log.info("odd", field=Broken())
    assert "which cannot be read" in caplog.text
