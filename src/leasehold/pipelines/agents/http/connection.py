"""One connection of the server: uvicorn's own, with a deadline for each request, a limit, and our form of errors.

uvicorn waits for the headers and the body of a request for as long as its client likes, and answers what is not HTTP
as plain text.
"""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from leasehold.errors import LeaseholdError
from leasehold.pipelines.agents.http.answers import refuse
from leasehold.pipelines.agents.http.errors import HttpRefusal, TooManyRequests
from leasehold.pipelines.agents.http.limits import CONNECTIONS_MAX, REQUEST_SECONDS

ARRIVING: Final = (h11.IDLE, h11.SEND_BODY)


class DeadlineProtocol(H11Protocol):
    """Closes a connection whose request does not arrive in time."""

    request_seconds: float = REQUEST_SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            self._answer(TooManyRequests(f"The limit is {CONNECTIONS_MAX:,} connections."))
            return
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state not in ARRIVING:
            self._clear_deadline()
        elif self._deadline is None:
            self._set_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._clear_deadline()  # the next request has not begun; until it does, the keep-alive time holds

    def send_400_response(self, msg: str) -> None:
        self._answer(HttpRefusal(msg))

    def _answer(self, refusal: LeaseholdError) -> None:
        """Answer without an application, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            found = refuse(refusal, {"Connection": "close"})
            head = h11.Response(status_code=found.status_code, headers=found.raw_headers)
            for event in (head, h11.Data(data=bytes(found.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _set_deadline(self) -> None:
        self._deadline = self.loop.call_later(self.request_seconds, self.transport.abort)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
