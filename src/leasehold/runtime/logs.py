"""Loggers on top of the standard library's, so that a program decides where lines go: `event key=value …`."""

from __future__ import annotations

import logging
from typing import Any


class Log:
    """A logger that knows its context. Values are written so that a line stays one line."""

    def __init__(self, name: str, **context: object) -> None:
        self._logger = logging.getLogger(name)
        self._context = context

    def debug(self, event: str, **fields: Any) -> None:
        """Say what only a developer wants to know."""
        self._say(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: Any) -> None:
        """Say what is going on."""
        self._say(logging.INFO, event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Say what did not go as planned."""
        self._say(logging.WARNING, event, fields)

    def error(self, event: str, **fields: Any) -> None:
        """Say what somebody should look at."""
        self._say(logging.ERROR, event, fields)

    def _say(self, level: int, event: str, fields: dict[str, Any]) -> None:
        if self._logger.isEnabledFor(level):
            line = " ".join([event, *(f"{key}={_plain(value)}" for key, value in (self._context | fields).items())])
            self._logger.log(level, "%s", line)


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)
