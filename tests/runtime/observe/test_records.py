"""S16: while a process runs handlers, no secret of theirs reaches a log, whatever logger they use."""

import copy
import io
import logging
import os
import pickle
import subprocess
import sys
from functools import partial

import pytest

from leasehold.runtime.observe.records import redacted_records

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def shop():
    """A logger of the program's own, which propagates to nobody; its lines and its records."""
    logger, lines = logging.getLogger("shop"), io.StringIO()
    handler = logging.StreamHandler(lines)
    logger.addHandler(handler)
    logger.propagate, before = False, logger.propagate
    yield logger, lines
    logger.propagate = before
    logger.removeHandler(handler)


def fail():
    raise ValueError(f"refused {TOKEN}")


def log_all(logger):
    logger.error("message %s", TOKEN)
    logger.error("message " + TOKEN)  # noqa: G003 — as a program might
    logger.error("named %(user)s", {"user": "ada", "password": "hunter2secret"})
    logger.error("wrong number %s %s", TOKEN)  # noqa: PLE1206
    logger.error(RuntimeError(f"as an object {TOKEN}"))
    logger.error("stack", stack_info=True, extra={"headers": {"Authorization": f"Bearer {TOKEN}"}, "token": TOKEN})
    try:
        fail()
    except ValueError:
        logger.exception("failed")
    logger.getChild("orders").error("from a child %s", TOKEN)
    logging.LoggerAdapter(logger, {"secret": TOKEN}).error("adapted %s", TOKEN)


class Keeping(logging.Handler):
    """Keeps records as any handler gets them."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


def test_s16_no_secret_of_a_handlers_own_logger_reaches_any_handler(app, shop, capsys):
    """Loggers configured before the worker started and after, with and without propagation."""
    logger, lines = shop
    kept = Keeping()

    @app.job
    def plain():
        logger.addHandler(kept)
        late = logging.getLogger("made.later")
        late.addHandler(kept)
        log_all(logger)
        log_all(late)

    @app.job
    async def waiting():
        log_all(logger)

    for kind in (plain, waiting):
        kind.submit()
    app.drain()
    logger.removeHandler(kept)
    logging.getLogger("made.later").removeHandler(kept)
    everything = lines.getvalue() + "".join(repr(vars(record)) for record in kept.records) + capsys.readouterr().err
    assert len(kept.records) == 27
    for secret in (TOKEN, "hunter2secret"):
        assert secret not in everything
    assert "ValueError: refused" in lines.getvalue()
    assert "wrong number %s %s" in lines.getvalue()


def test_a_record_without_a_secret_is_left_as_it_is(shop):
    logger, _ = shop
    kept, thing = Keeping(), object()
    logger.addHandler(kept)
    with redacted_records():
        try:
            int("order 7")
        except ValueError as error:
            logger.exception("order %d of %s", 7, "ada", extra={"thing": thing})
            raised = error
    logger.removeHandler(kept)
    [record] = kept.records
    assert (record.msg, record.args) == ("order %d of %s", (7, "ada"))
    assert record.exc_info[1] is raised
    assert record.thing is thing


def test_a_redacted_record_can_be_copied_and_sent_to_another_process(shop):
    logger, _ = shop
    with redacted_records():
        record = logger.makeRecord("shop", logging.INFO, "f", 1, "call %s", (TOKEN,), None, extra={"token": TOKEN})
    for again in (copy.copy(record), pickle.loads(pickle.dumps(record))):  # noqa: S301 — our own bytes
        assert type(vars(again)) is dict
        assert TOKEN not in repr(vars(again))


def test_the_factory_of_the_program_is_used_and_comes_back(app):
    class Marked(logging.LogRecord):
        marked = True

    before = logging.getLogRecordFactory()
    logging.setLogRecordFactory(Marked)
    try:
        with redacted_records(), redacted_records():
            made = logging.getLogger("shop").makeRecord("shop", 20, "f", 1, TOKEN, (), None)
        assert isinstance(made, Marked)
        assert TOKEN not in made.getMessage()
        assert logging.getLogRecordFactory() is Marked
    finally:
        logging.setLogRecordFactory(before)


def test_a_factory_that_was_put_around_stays_and_redacts_no_more_after_the_end(app):
    before = logging.getLogRecordFactory()
    try:
        with redacted_records():
            inner = logging.getLogRecordFactory()
            logging.setLogRecordFactory(partial(inner))
            outer = logging.getLogRecordFactory()
            assert TOKEN not in logging.getLogger("shop").makeRecord("shop", 20, "f", 1, TOKEN, (), None).getMessage()
        assert logging.getLogRecordFactory() is outer
        assert TOKEN in logging.getLogger("shop").makeRecord("shop", 20, "f", 1, TOKEN, (), None).getMessage()
    finally:
        logging.setLogRecordFactory(before)


MODULE = f"""
import logging
from leasehold import Leasehold
app = Leasehold()

@app.job(isolated=True)
def apart():
    logging.getLogger("shop").error("calling with %s", "{TOKEN}")

if __name__ == "__main__":
    apart.submit()
    app.drain()
"""


def test_s16_the_loggers_of_an_isolated_handler_are_redacted_too(url, tmp_path):
    (tmp_path / "main.py").write_text(MODULE)
    known = os.environ | {"LEASEHOLD_URL": url}
    words = [sys.executable, "main.py"]
    ran = subprocess.run(words, cwd=tmp_path, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "calling with" in ran.stderr
    assert TOKEN not in ran.stderr
