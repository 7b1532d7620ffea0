"""An endpoint of a model that answers as a test wants, also badly, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CRUMB_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `declared_length` is the length it claims, `crumbs` sends it a few bytes at a time."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    declared_length: int | None = None
    crumbs: int = 0
    after: threading.Event | None = None


Script = Callable[[Asked], Reply]


class EndpointServer:
    """Answers by its script, on the loopback; leaving its block ends what still goes on."""

    def __init__(self, script: Script, port: int = 0) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.leaving = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leaving.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=60)


def completion(content: str | None, *, finish: str = "stop", tokens: tuple[int, int] = (11, 7)) -> Reply:
    """Answer as OpenAI's interface does."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return Reply(body=json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode())


def message(text: str, *, stop: str = "end_turn", tokens: tuple[int, int] = (11, 7)) -> Reply:
    """Answer as Anthropic's interface does."""
    usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    content = [{"type": "text", "text": text}]
    message = {"type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": usage}
    return Reply(body=json.dumps(message).encode())


def refusal(status: int, message: str, *headers: tuple[str, str]) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message}}).encode(), headers)


def _handler_of(server: EndpointServer) -> type[BaseHTTPRequestHandler]:
    class Conversation(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked = Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            server.asked.append(asked)
            with suppress(BrokenPipeError, ConnectionResetError):
                self._answer(server.script(asked))

        def _answer(self, reply: Reply) -> None:
            if reply.after is not None:
                reply.after.wait(60)
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            self.send_header(
                "content-length", str(len(reply.body) if reply.declared_length is None else reply.declared_length)
            )
            self.end_headers()
            step = reply.crumbs or max(len(reply.body), 1)
            for start in range(0, len(reply.body), step):
                self.wfile.write(reply.body[start : start + step])
                if reply.crumbs and server.leaving.wait(CRUMB_SECONDS):
                    return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 — as the base class has it
            pass

    return Conversation
