"""The application that `leasehold agents serve` runs: the routes behind the guard, and our form of every error."""

from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from leasehold.pipelines.agents.http.access import AccessGuard
from leasehold.pipelines.agents.http.answers import refuse
from leasehold.pipelines.agents.http.errors import InternalError, MethodRefused, RouteUnknown, report
from leasehold.pipelines.agents.http.routes import AgentsApi, routes


def make_app(api: AgentsApi, token: str, hosts: frozenset[str]) -> ASGIApp:
    app = Starlette(
        routes=routes(api),
        middleware=[Middleware(AccessGuard, token=token, hosts=hosts)],
        exception_handlers={HTTPException: _refuse_route, Exception: _refuse_unexpected},
    )
    app.router.redirect_slashes = False
    return app


async def _refuse_route(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return refuse(MethodRefused(), dict(error.headers or {}))
    return refuse(RouteUnknown())


async def _refuse_unexpected(_: Request, error: Exception) -> Response:
    report(error)
    return refuse(InternalError())
