"""A mail server that follows a script: at any step it replies as the test wants, hangs up, or falls silent."""

import socket
import ssl
from enum import Enum, auto

from tests.providers.listener import Listener

FINE = {
    "greeting": "220 mail.example ready",
    "EHLO": "250-mail.example\r\n250 8BITMIME",
    "STARTTLS": "220 go ahead",
    "MAIL": "250 ok",
    "RCPT": "250 ok",
    "DATA": "354 go ahead",
    "dot": "250 2.0.0 Ok: queued as 4XyZ",
    "QUIT": "221 bye",
}


class Silence(Enum):
    """What a server does instead of answering."""

    DROP = auto()
    HANG = auto()
    DROP_IN_THE_BODY = auto()


DROP, HANG, DROP_IN_THE_BODY = Silence


class MailServer(Listener):
    """Answers as the script wants; `commands` and `bodies` are what it received."""

    def __init__(self, context: ssl.SSLContext | None = None, /, **script: str | Silence) -> None:
        self.script: dict[str, str | Silence] = {**FINE, **script}
        self.commands: list[str] = []
        self.bodies: list[bytes] = []
        self._context = context
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        if not self._answers(connection, "greeting"):
            return
        lines = connection.makefile("rb")
        while command := lines.readline().decode().strip():
            self.commands.append(command)
            verb = command.partition(" ")[0].upper()
            if not self._answers(connection, verb):
                return
            if verb == "STARTTLS" and self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
                lines = connection.makefile("rb")
            if verb == "DATA" and self.script["DATA"] == FINE["DATA"] and not self._takes_body(connection, lines):
                return
        connection.close()

    def _takes_body(self, connection: socket.socket, lines) -> bool:
        if self.script["dot"] is DROP_IN_THE_BODY:
            lines.readline()
            return False
        body = b""
        while (line := lines.readline()) != b".\r\n":
            if not line:
                return False
            body += line
        self.bodies.append(body)
        return self._answers(connection, "dot")

    def _answers(self, connection: socket.socket, step: str) -> bool:
        match self.script.get(step, "502 what?"):
            case str() as words:
                connection.sendall(f"{words}\r\n".encode())
                return True
            case Silence.HANG:
                self.hang()
        return False
