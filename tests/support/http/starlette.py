"""Starlette's own way to serve files, under uvicorn in a thread: a server that nobody here wrote, with a log."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.wait import until


@dataclass
class Line:
    """One answer: what was asked, and how many bytes of it were handed to the server, from where."""

    method: str
    path: str
    if_range: str
    status: int = 0
    first: int = 0
    sent: int = 0


class _Log:
    """Logs what passes by, and holds back an answer after a given number of bytes."""

    def __init__(self, app: ASGIApp, server: StarletteFiles) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = dict(scope["headers"])
        line = Line(scope["method"], scope["path"], asked.get(b"if-range", b"").decode())
        self._server.log.append(line)
        hold = self._server.holds.pop(0) if line.method == "GET" and self._server.holds else None

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                line.status = message["status"]
                span = dict(message["headers"]).get(b"content-range", b"").decode()
                begin = span.removeprefix("bytes ").partition("-")[0]
                line.first = int(begin) if begin.isdecimal() else 0
            elif line.method == "GET":
                line.sent += len(message.get("body", b""))
            await send(message)
            if hold is not None and line.sent >= hold and line not in self._server.held:
                self._server.held.append(line)
                await anyio.to_thread.run_sync(self._server.released.wait)

        await self._app(scope, receive, note)


class StarletteFiles:
    """Serves a folder on a port of the loopback."""

    def __init__(self, folder: Path) -> None:
        self.log: list[Line] = []
        self.holds: list[int] = []  # bytes after which an answer is held back; one entry a GET
        self.held: list[Line] = []
        self.released = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        app = Starlette(routes=[Mount("/", StaticFiles(directory=folder))])
        config = uvicorn.Config(_Log(app, self), log_config=None, lifespan="off", access_log=False)
        self._server = uvicorn.Server(config)
        sockets = {"sockets": [self._socket]}
        self._thread = threading.Thread(target=self._server.run, kwargs=sockets, name="starlette", daemon=True)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}{path}"

    def gets(self, path: str) -> list[Line]:
        return [line for line in self.log if (line.method, line.path) == ("GET", path)]

    def __enter__(self) -> Self:
        self._thread.start()
        until(lambda: self._server.started)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=60)
        self._socket.close()
