"""How this process writes log lines, so that the process of an isolated handler writes them in the same form."""

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec import Struct

STREAMS: Final = {1: "stdout", 2: "stderr"}
STYLES: Final[dict[type[Any], str]] = {
    logging.PercentStyle: "%",
    logging.StrFormatStyle: "{",
    logging.StringTemplateStyle: "$",
}


class LogForm(Struct, frozen=True):
    """The root logger's handler of a standard stream, how many handlers there are, and the levels of loggers."""

    stream: str
    line: str
    date: str | None
    style: str
    level: int
    handlers: int
    levels: dict[str, int]


def log_form() -> LogForm | None:
    """Return the form of this process's lines; None if they go elsewhere, or if a class of the program makes them."""
    root = logging.getLogger()
    for handler in root.handlers:
        formatter = handler.formatter or logging.Formatter("%(message)s")
        stream, style = _stream_of(handler), STYLES.get(type(getattr(formatter, "_style", None)))
        if stream is not None and style is not None and type(formatter) is logging.Formatter:
            line = str(formatter._fmt)  # noqa: SLF001 — no other way to read it
            return LogForm(stream, line, formatter.datefmt, style, handler.level, len(root.handlers), _levels())
    return None


@contextmanager
def inherited_form(form: LogForm | None) -> Iterator[None]:
    """Write lines in this form from here on, unless the block, which imports the program, has them written itself."""
    root = logging.getLogger()
    if form is None:
        yield
        return
    handler: logging.Handler = logging.StreamHandler(getattr(sys, form.stream))
    handler.setLevel(form.level)
    handler.setFormatter(logging.Formatter(form.line, form.date, form.style))  # type: ignore[arg-type]
    root.addHandler(handler)
    for name, level in form.levels.items():
        logging.getLogger(name).setLevel(level)
    yield
    if len(root.handlers) > form.handlers:
        root.removeHandler(handler)


def _stream_of(handler: logging.Handler) -> str | None:
    stream: Any = getattr(handler, "stream", None)
    try:
        return STREAMS.get(stream.fileno())
    except (AttributeError, ValueError, io.UnsupportedOperation):  # no file, or a closed one
        return None


def _levels() -> dict[str, int]:
    known = logging.getLogger().manager.loggerDict.items()
    named = {name: one.level for name, one in known if isinstance(one, logging.Logger) and one.level}
    return {**named, "": logging.getLogger().level}
