"""A real mail server, aiosmtpd, in a thread of its own. It keeps what it takes."""

import asyncio
import ssl
import threading
from types import TracebackType
from typing import Any, Self

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from tests.providers.messages import server_context

USER, PASSWORD = "robot", "correct horse battery"


class PostOffice:
    """Options are those of aiosmtpd; `implicit` speaks TLS from the first byte, `offers_tls` after STARTTLS."""

    def __init__(
        self, *, implicit: bool = False, offers_tls: bool = False, answers: dict[str, str] | None = None, **options: Any
    ) -> None:
        self.taken: list[Any] = []
        self.logins: list[str] = []
        self._answers = answers or {}
        self._implicit = server_context() if implicit else None
        self._options = options | ({"tls_context": server_context()} if offers_tls else {})
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(self._implicit), self._loop).result(60)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _listen(self, context: ssl.SSLContext | None) -> asyncio.Server:
        return await self._loop.create_server(self._talk, "127.0.0.1", 0, ssl=context)

    async def _stop(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _talk(self) -> SMTP:
        hooks = {"handle_RCPT": self._rcpt, "handle_DATA": self._take}
        return SMTP(type("Hooks", (), hooks)(), authenticator=self._admit, **self._options)

    async def _rcpt(self, _server, _session, envelope, address, _options) -> str:
        answer = self._answers.get(address, "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def _take(self, _server, _session, envelope) -> str:
        self.taken.append(envelope)
        return f"250 2.0.0 Ok: queued as {len(self.taken):04}"

    def _admit(self, _server, _session, _envelope, mechanism, credentials: LoginPassword) -> AuthResult:
        self.logins.append(mechanism)
        # Not handled: the answer is left to the server.
        return AuthResult(success=credentials == LoginPassword(USER.encode(), PASSWORD.encode()), handled=False)
