"""Loggers on top of the standard library's, so that a program decides where lines go: `event key=value …`."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any, Final

_STANDARD: Final = ("exc_info", "stack_info", "stacklevel", "extra")


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger that knows its context and takes fields by name: `log.info("rendered", frames=24)`."""

    def __init__(self, name: str, **context: object) -> None:
        super().__init__(logging.getLogger(name), context)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Write context and fields behind the event, each so that the line stays one line."""
        fields = {**(self.extra or {}), **{key: value for key, value in kwargs.items() if key not in _STANDARD}}
        line = " ".join([str(msg), *(f"{key}={_plain(value)}" for key, value in fields.items())])
        return line, {key: kwargs[key] for key in _STANDARD if key in kwargs}


def _plain(value: object) -> str:
    text = str(value)
    return text if text.isprintable() and " " not in text and text else repr(text)
