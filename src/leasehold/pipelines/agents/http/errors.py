"""Refusals of the HTTP interface, and the status that each error is answered with.

Every answer that is not a success has the body `{"code": …, "message": …, "context": {…}}`.
"""

import logging
from http import HTTPStatus
from typing import Any, ClassVar, Final

from leasehold.errors import KeyConflict, LeaseholdError, Misuse, Overtaken, PayloadTooLarge, Unavailable
from leasehold.pipelines.agents.errors import (
    ChildUnknown,
    IdempotencyConflict,
    RecordsMissing,
    SessionUnknown,
    UrmError,
)
from leasehold.pipelines.agents.plan.refusals import PlanInputTooLarge
from leasehold.redact import scrub

log: Final = logging.getLogger(__name__)


class HttpRefusal(UrmError, Misuse, code="URM_HTTP_REQUEST_INVALID"):
    """The request is not valid HTTP."""

    status: ClassVar[HTTPStatus] = HTTPStatus.BAD_REQUEST


class TokenRefused(HttpRefusal, code="URM_HTTP_UNAUTHORIZED"):
    """This server needs its bearer token: `Authorization: Bearer …`."""

    status = HTTPStatus.UNAUTHORIZED


class HostRefused(HttpRefusal, code="URM_HTTP_HOST_FORBIDDEN"):
    """The request names a host that is not this server's."""

    status = HTTPStatus.FORBIDDEN


class OriginRefused(HttpRefusal, code="URM_HTTP_ORIGIN_FORBIDDEN"):
    """Requests from web pages are refused."""

    status = HTTPStatus.FORBIDDEN


class RouteUnknown(HttpRefusal, code="URM_HTTP_ROUTE_UNKNOWN"):
    """There is no such route."""

    status = HTTPStatus.NOT_FOUND


class MethodRefused(HttpRefusal, code="URM_HTTP_METHOD_NOT_ALLOWED"):
    """This route does not have this method."""

    status = HTTPStatus.METHOD_NOT_ALLOWED


class BodyTimeout(HttpRefusal, code="URM_HTTP_BODY_TIMEOUT"):
    """The body took too long to arrive."""

    status = HTTPStatus.REQUEST_TIMEOUT


class BodyTooLarge(HttpRefusal, code="URM_HTTP_BODY_TOO_LARGE"):
    """The body is larger than its limit; keep what is long in a file, and name the file."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class MediaTypeRefused(HttpRefusal, code="URM_HTTP_MEDIA_TYPE_UNSUPPORTED"):
    """A body is sent as `Content-Type: application/json`, in UTF-8 and not compressed."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class BodyInvalid(HttpRefusal, code="URM_HTTP_BODY_INVALID"):
    """The body is not a JSON object that can be stored."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class ParameterInvalid(HttpRefusal, code="URM_HTTP_PARAMETER_INVALID"):
    """A parameter of the query or a header is missing, given twice, or has no valid value."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class TooManyRequests(UrmError, Unavailable, code="URM_HTTP_TOO_MANY_REQUESTS"):
    """Too many requests are in work; send this one again later."""

    status: ClassVar[HTTPStatus] = HTTPStatus.TOO_MANY_REQUESTS


class ServerStopping(UrmError, Unavailable, code="URM_HTTP_STOPPING"):
    """This server stops; send the request again to the next one."""


class InternalError(UrmError, code="URM_HTTP_INTERNAL"):
    """The server failed; its log has the cause. The same request may be sent again."""


# The first that fits decides.
STATUSES: Final[tuple[tuple[type[LeaseholdError], HTTPStatus], ...]] = (
    (ChildUnknown, HTTPStatus.NOT_FOUND),
    (SessionUnknown, HTTPStatus.NOT_FOUND),
    (IdempotencyConflict, HTTPStatus.CONFLICT),
    (KeyConflict, HTTPStatus.CONFLICT),
    (PlanInputTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (PayloadTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (RecordsMissing, HTTPStatus.INTERNAL_SERVER_ERROR),
    (Overtaken, HTTPStatus.CONFLICT),
    (Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (Misuse, HTTPStatus.UNPROCESSABLE_ENTITY),
)


def status_of(error: LeaseholdError) -> HTTPStatus:
    if isinstance(error, HttpRefusal | TooManyRequests):
        return error.status
    return next((status for kind, status in STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def body_of(error: LeaseholdError) -> dict[str, Any]:
    """Return what a client is answered, without secrets."""
    context = error.context if isinstance(error, UrmError) else {}
    return {"code": error.code, "message": scrub(str(error), entropy=False), "context": context}


def report(error: BaseException) -> None:
    """Log an error that no client has caused, without secrets."""
    log.error("%s", scrub(f"{type(error).__name__}: {error}"))
