"""Loggers: structlog on top of the standard library's logging, so that a program decides where lines go."""

from __future__ import annotations

import logging
from typing import Any

import structlog


def logger(name: str, **context: object) -> Any:
    """Return a logger that writes `event key=value …` lines to the standard logger of this name."""
    wrapped = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["event"], bool_as_flag=False),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )
    return wrapped.bind(**context)
