"""A client of the HTTP interface: requests with and without a token, and streams of events read event by event."""

import http.client
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Self
from urllib.parse import urlsplit

SECONDS_MAX = 60  # a guard against hanging
_numbers = count(1)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    text: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.text)

    @property
    def outcome(self) -> tuple[int, str]:
        return self.status, self.value["code"]


class Client:
    def __init__(self, url: str, token: str) -> None:
        self.address = urlsplit(url).netloc
        self.headers = {"Authorization": f"Bearer {token}"}

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection(self.address, timeout=SECONDS_MAX)
        try:
            connection.request(method, path, body, {**self.headers, **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        """Send JSON; a request without an id gets one of its own."""
        content = body if isinstance(body, bytes) else json.dumps({"client_request_id": request_id(), **body}).encode()
        return self.request("POST", path, content, {"Content-Type": "application/json", **headers})

    def start(self, session: str, **fields: Any) -> Reply:
        return self.post("/urm/copilot/start", {"parent_session_id": session, **fields})

    def stop(self, session: str, **fields: Any) -> Reply:
        return self.post("/urm/copilot/stop", {"parent_session_id": session, **fields})

    def spawn(self, session: str, *command: str, **fields: Any) -> Reply:
        child = {"parent_session_id": session, "name": request_id(), "command": command or ("true",)}
        return self.post("/urm/agent/spawn", {**child, **fields})

    def cancel(self, child: str, **fields: Any) -> Reply:
        return self.post(f"/urm/agent/{child}/cancel", fields)

    def child(self, child: str) -> Any:
        return self.get(f"/urm/agent/{child}").value

    def events(self, session: str, after: int | None = None) -> "Events":
        return Events(self, session, after)

    def wait_for(self, session: str, event: str, child: str) -> None:
        """Follow the stream until a child has had an event."""
        with self.events(session) as events:
            for found in events:
                if found["event"] == event and found["detail"]["child_id"] == child:
                    return
        raise AssertionError(f"the stream ended before {event} of {child}")


class Events:
    """A stream of events; a context manager that yields the events' bodies."""

    def __init__(self, client: Client, session: str, after: int | None = None) -> None:
        self._connection = http.client.HTTPConnection(client.address, timeout=SECONDS_MAX)
        seen = {} if after is None else {"Last-Event-ID": str(after)}
        path = f"/urm/copilot/events?parent_session_id={session}"
        self._connection.request("GET", path, headers={**client.headers, **seen})
        self.response = self._connection.getresponse()

    def __iter__(self) -> Iterator[Any]:
        seq = None
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                seq = int(value)
            if name == "data":
                found = json.loads(value)
                assert found["seq"] == seq
                yield found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.response.close()
        self._connection.close()


def request_id() -> str:
    return f"request-{next(_numbers)}"
