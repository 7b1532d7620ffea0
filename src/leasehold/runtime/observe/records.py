"""Redaction of every log record of a process while it runs handlers: those of the program's own loggers too.

A record factory gets every record of every logger before any filter, handler or formatter does, however the logger is
configured, and whenever that was. A record that holds no secret is left as it is.
"""

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from leasehold.runtime.observe.logs import RedactedLine, clean, cleaned

Factory = Callable[..., logging.LogRecord]
WITHHELD: Final = "(withheld: a record that could not be redacted)"

_lock: Final = threading.Lock()
_installed: "list[RedactingFactory]" = []


class RedactingFactory:
    """Makes records as the factory before it does, and redacts them while somebody needs that."""

    def __init__(self, before: Factory) -> None:
        self.before = before
        self.users = 0

    def __call__(self, *arguments: Any, **fields: Any) -> logging.LogRecord:
        record = self.before(*arguments, **fields)
        if self.users and not _is_redacted(record):
            try:
                _redact(record)
            except Exception:  # noqa: BLE001 — whatever stops the redactor, nothing unredacted is logged
                record.msg, record.args, record.exc_info, record.stack_info = WITHHELD, (), None, None
        return record


class _Fields(dict[str, Any]):
    """The attributes of a record. What `extra=` adds after it was made is redacted too."""

    def __setitem__(self, name: str, value: object) -> None:
        super().__setitem__(name, cleaned(value, name))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # a record that is sent to another process needs nothing of this one


@contextmanager
def redacted_records() -> Iterator[None]:
    """Redact every record that is made in this process meanwhile. Blocks may overlap."""
    factory = _install()
    try:
        yield
    finally:
        with _lock:
            factory.users -= 1
            if not factory.users and logging.getLogRecordFactory() is factory:
                logging.setLogRecordFactory(factory.before)
                _installed.remove(factory)


def _install() -> RedactingFactory:
    with _lock:
        current = logging.getLogRecordFactory()
        # One that another factory was put around by now is still in use, and is used again.
        factory = _installed[-1] if _installed and _installed[-1].users else RedactingFactory(current)
        if factory not in _installed:
            _installed.append(factory)
            logging.setLogRecordFactory(factory)
        factory.users += 1
        return factory


def _is_redacted(record: logging.LogRecord) -> bool:
    """Whether the line is one of the engine's, which are redacted when they are put together."""
    return isinstance(record.args, tuple) and len(record.args) == 1 and isinstance(record.args[0], RedactedLine)


def _redact(record: logging.LogRecord) -> None:
    message = _message(record)
    whole = f"{message}\n{record.args!r}" if record.args else message
    if clean(whole) != whole:
        record.msg, record.args = clean(message), ()
    if record.exc_info:
        trace = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        if (safe_trace := clean(trace)) != trace:
            record.exc_text, record.exc_info = safe_trace, None
    if record.stack_info:
        record.stack_info = clean(record.stack_info)
    record.__dict__ = _Fields(record.__dict__)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 — logging would print what it cannot put together to stderr, unredacted
        record.msg, record.args = f"{record.msg} {record.args!r}", ()
        return record.getMessage()
