"""The routes of the HTTP interface. Another Starlette application mounts them, behind an authorization of its own.

    api = AgentsApi(sessions)
    Mount("/agents", routes=routes(api))        # and `api.stop()`, then `api.close()`, when it ends

Requests wait for the database on threads. Every POST is answered once for its `client_request_id`.
"""

from collections.abc import Awaitable, Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from leasehold.errors import Broken, LeaseholdError
from leasehold.pipelines.agents.http.answers import HEADERS, answer, refuse
from leasehold.pipelines.agents.http.body import read_body
from leasehold.pipelines.agents.http.errors import InternalError, ParameterInvalid, report
from leasehold.pipelines.agents.http.event_stream import EventFeed, EventStream, check_seen, last_seen
from leasehold.pipelines.agents.http.fields import cancel_request, spawn_request, start_request, stop_request
from leasehold.pipelines.agents.http.follow import read_position
from leasehold.pipelines.agents.http.hosted import HostedSessions
from leasehold.pipelines.agents.http.limits import LIFECYCLE_THREADS_MAX, THREADS_MAX
from leasehold.pipelines.agents.http.threads import BlockingThreads
from leasehold.pipelines.agents.sessions import check_id

Work = Callable[[Request], Awaitable[Response]]


class AgentsApi:
    """What the routes do, with the sessions of this process."""

    def __init__(self, sessions: HostedSessions) -> None:
        self._sessions = sessions
        self._records = sessions.place.records
        self._threads = BlockingThreads(THREADS_MAX)
        self._lifecycle = BlockingThreads(LIFECYCLE_THREADS_MAX)  # a stop waits until children have ended
        self._events = EventFeed(self._records, self._threads)

    async def start(self, request: Request) -> Response:
        wanted = start_request(await read_body(request))
        return answer(await self._lifecycle.answer(lambda: self._sessions.start(wanted)))

    async def stop_session(self, request: Request) -> Response:
        wanted = stop_request(await read_body(request))
        return answer(await self._lifecycle.answer(lambda: self._sessions.stop(wanted)))

    async def spawn(self, request: Request) -> Response:
        body, root = await read_body(request), self._sessions.place.root
        return answer(await self._threads.answer(lambda: self._sessions.spawn(spawn_request(body, root))))

    async def cancel(self, request: Request) -> Response:
        child_id, request_id = child_of(request), cancel_request(await read_body(request))
        return answer(await self._threads.answer(lambda: self._sessions.cancel(child_id, request_id)))

    async def child(self, request: Request) -> Response:
        child_id = child_of(request)
        return answer(await self._threads.answer(lambda: self._sessions.child(child_id)))

    async def events(self, request: Request) -> Response:
        """Stream a session's events; without content where nothing is left and nothing more will come."""
        name, after = session_of(request), last_seen(request)
        position = await self._threads.answer(
            lambda: self._records.read(lambda transaction: read_position(transaction, name))
        )
        check_seen(after, position)
        if after == position.last_seq and not position.is_active:
            return Response(status_code=204, headers=HEADERS)
        return EventStream(self._events, name, position, after)

    def stop(self) -> None:
        """End the streams of events, on the event loop."""
        self._events.follower.stop()

    def close(self) -> None:
        """Wait for requests that were begun."""
        self._lifecycle.close()
        self._threads.close()


def routes(api: AgentsApi) -> list[Route]:
    """Return the routes, for the application that mounts them."""
    return [
        _route("/urm/copilot/start", api.start, "POST"),
        _route("/urm/copilot/stop", api.stop_session, "POST"),
        _route("/urm/copilot/events", api.events, "GET"),
        _route("/urm/agent/spawn", api.spawn, "POST"),
        _route("/urm/agent/{child_id}/cancel", api.cancel, "POST"),
        _route("/urm/agent/{child_id}", api.child, "GET"),
    ]


def _route(path: str, work: Work, method: str) -> Route:
    route = Route(path, _answering(work), methods=[method])
    route.methods = {method}  # a HEAD of a stream would never end
    return route


def _answering(work: Work) -> Work:
    async def answered(request: Request) -> Response:
        try:
            return await work(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except Broken as error:
            report(error)
            return refuse(error)
        except LeaseholdError as error:
            return refuse(error)
        except Exception as error:  # noqa: BLE001 — it is logged, and no traceback leaves the server
            report(error)
            return refuse(InternalError())

    return answered


def child_of(request: Request) -> str:
    return check_id(request.path_params["child_id"], "child_id")


def session_of(request: Request) -> str:
    given = request.query_params.multi_items()
    if [name for name, _ in given] != ["parent_session_id"]:
        raise ParameterInvalid("The query has `parent_session_id`, once, and nothing else.")
    return check_id(given[0][1], "parent_session_id")
