"""Security events: what was denied and why, as one structured line each, without secrets."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

from leasehold import clock
from leasehold.pipelines.review.limits import PATH_CHARACTERS_MAX
from leasehold.pipelines.shell.text import printable
from leasehold.redact import RedactionFailed, scrub

LOGGER: Final = "leasehold.security"


@dataclass(frozen=True, slots=True)
class SecurityEvent:
    """A path was denied; `change` is what was asked for, `path` is redacted."""

    at: str
    event: str
    change: str
    path: str
    reason: str


SecurityLog = Callable[[SecurityEvent], object]


def path_denied(change: str, path: str, reason: str) -> SecurityEvent:
    at = clock.moment(clock.wall()).isoformat()
    return SecurityEvent(at, "review_path_denied", _shown(change), _shown(path), reason)


def log_security_event(event: SecurityEvent) -> None:
    """Log an event as one line of JSON, as a warning of the logger `leasehold.security`."""
    logging.getLogger(LOGGER).warning("%s", json.dumps(asdict(event)))


def _shown(text: str) -> str:
    if len(text) > PATH_CHARACTERS_MAX:  # a secret that is cut in two might not be recognised
        return f"({len(text):,} characters)"
    try:
        return printable(scrub(text))
    except RedactionFailed:
        return "(cannot be shown)"
