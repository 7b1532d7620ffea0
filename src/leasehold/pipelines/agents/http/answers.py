"""Answers: JSON that no cache keeps, the same bytes for the same value, and refusals with their headers."""

import json
from typing import Any, Final

from starlette.responses import Response

from leasehold.errors import LeaseholdError, Unavailable
from leasehold.pipelines.agents.http.errors import TokenRefused, body_of, status_of
from leasehold.pipelines.agents.http.limits import RETRY_AFTER_SECONDS

HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # crash here: answer was stored but not sent
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return Response(f"{text}\n", status, {**HEADERS, **(headers or {})}, "application/json")


def refuse(error: LeaseholdError, headers: dict[str, str] | None = None) -> Response:
    more = dict(headers or {})
    if isinstance(error, TokenRefused):
        more["WWW-Authenticate"] = "Bearer"
    if isinstance(error, Unavailable):
        more["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer(body_of(error), status_of(error), more)
