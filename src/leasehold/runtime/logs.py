"""Loggers on top of the standard library's, so that a program decides where lines go: `event key=value …`.

Every line is redacted, exception texts and tracebacks included; one that cannot be redacted is withheld.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, MutableMapping
from typing import Any, Final

from leasehold.redact import scrub

_STANDARD: Final = ("exc_info", "stack_info", "stacklevel", "extra")
LINE_LENGTH_MAX: Final = 64 * 1024
STACK_OWN: Final = 3  # frames of this module and of logging, which say nothing


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that knows its context and takes fields by name: `log.info("rendered", frames=24)`."""

    def __init__(self, name: str, **context: object) -> None:
        super().__init__(logging.getLogger(name), context)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Put a line together and redact it, before any handler of the program's sees a part of it."""
        if self.isEnabledFor(level):
            line, kept = self.process(_said(msg, args), kwargs)
            self.logger.log(level, "%s", line, **{"stacklevel": 2, **kept})

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Write context and fields behind the event, each so that the line stays one line; then redact."""
        fields = {**(self.extra or {}), **{key: value for key, value in kwargs.items() if key not in _STANDARD}}
        line = " ".join([str(msg), *(f"{key}={_plain(value)}" for key, value in fields.items())])
        line += _trace(kwargs.get("exc_info"))
        if kwargs.get("stack_info"):
            line += "\n" + "".join(traceback.format_stack()[:-STACK_OWN]).rstrip()
        kept: dict[str, Any] = {"stacklevel": kwargs["stacklevel"]} if "stacklevel" in kwargs else {}
        if extra := kwargs.get("extra"):
            kept["extra"] = {key: clean(value) if isinstance(value, str) else value for key, value in extra.items()}
        return clean(line), kept


def _said(msg: object, args: tuple[object, ...]) -> str:
    try:
        return str(msg) % args if args else str(msg)
    except (TypeError, ValueError):
        return f"{msg} {args!r}"


def _plain(value: object) -> str:
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 — a field that cannot be read must not end the attempt that logs it
        text = f"({type(value).__name__}, which cannot be read)"
    return text if text.isprintable() and " " not in text and text else repr(text)


def _trace(exc_info: object) -> str:
    if not exc_info:
        return ""
    error = exc_info if isinstance(exc_info, BaseException) else sys.exc_info()[1]
    return "" if error is None else "\n" + "".join(traceback.format_exception(error)).rstrip()


def clean(line: str, redact: Callable[[str], str] = scrub) -> str:
    """Redact first, then cut; what lies beyond the limit is redacted too, so that no secret is cut in half."""
    try:
        return redact(line[: 2 * LINE_LENGTH_MAX])[:LINE_LENGTH_MAX]
    except Exception:  # noqa: BLE001 — whatever stops the redactor, nothing unredacted is logged
        return "(withheld: a line that could not be redacted)"
