"""One connection to a mail server, step by step, so that it is known at every moment whether a mail may be out.

Until the line with the final dot is sent, the server has no complete mail: whatever fails, nothing was sent. From
the dot on only the server's answer is certain; without it the mail may be out. `smtplib` reads and writes the commands,
but not its `sendmail`, which does not report on which side of the dot it failed.
"""

import contextlib
import re
import select
import smtplib
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from leasehold.model.delivery import NotSent, Refused
from leasehold.outbound import Deadline, NotConnected, one_line, quoted
from leasehold.providers.errors import MaybeSent
from leasehold.providers.limits import QUIT_SECONDS, REPAIR_SECONDS
from leasehold.providers.mail import Mail

REPLY_BYTES_MAX: Final = 64 * 1024
# The first digit of an answer.
_DONE: Final = 2
_LATER: Final = 4
_NEVER: Final = 5
_READY: Final = 220
_GO_AHEAD: Final = 354
_TOO_LARGE: Final = 552
# The server wants TLS, a login or another one: for the operator to repair, at whichever step it answers so.
_ABOUT_US: Final = {530, 534, 535, 538}
_LETTER_STEPS: Final = {"RCPT", "DATA", "the final dot"}
_SIZE: Final = re.compile(r"[0-9]{1,18}")
_PERIOD: Final = re.compile(rb"^\.", re.MULTILINE)


class Conversation:
    """The commands of one connection. Every method but `hand_over` leaves the server without a mail."""

    def __init__(self, connection: socket.socket, name: str = "") -> None:
        # Without a name, this machine's own address, as EHLO carries it: DNS is not asked.
        address = str(connection.getsockname()[0])
        literal = f"[IPv6:{address}]" if ":" in address else f"[{address}]"
        self._client = smtplib.SMTP(local_hostname=name or literal)
        self._adopt(connection)

    def greet(self) -> None:
        """Read the server's greeting and send EHLO."""
        with _nothing_sent("the greeting"):
            _expect("the greeting", self._client.getreply())
            _expect("EHLO", self._client.ehlo())

    def secure(self, host: str, context: ssl.SSLContext) -> None:
        """Switch to TLS, or raise: nothing is sent without it. What the server offered before is forgotten."""
        if not self._client.has_extn("starttls"):
            raise NotSent("The server does not offer STARTTLS.", retry_after=REPAIR_SECONDS)
        with _nothing_sent("STARTTLS"):
            _expect("STARTTLS", self._client.docmd("STARTTLS"), _READY)
            self._adopt(context.wrap_socket(self.connection, server_hostname=host))
            _expect("EHLO", self._client.ehlo())

    def log_in(self, user: str, password: str) -> None:
        """Log in. Wrong credentials are for the operator to repair, never a message's fault."""
        with _nothing_sent("AUTH"):
            self._client.login(user, password)

    def offer(self, mail: Mail) -> None:
        """Name the sender and the one recipient."""
        options = self._options(mail)
        with _nothing_sent("MAIL"):
            _expect("MAIL", self._client.mail(str(mail.sender), options))
        with _nothing_sent("RCPT"):
            _expect("RCPT", self._client.rcpt(str(mail.recipient)))

    def begin(self, mail: Mail) -> None:
        """Send the mail up to, but without, the final dot."""
        with _nothing_sent("DATA"):
            _expect("DATA", self._client.docmd("DATA"), _GO_AHEAD)
            self._client.send(_PERIOD.sub(b"..", mail.content))
            if self._replies.is_there():
                raise _rejection("DATA", *self._client.getreply())

    def hand_over(self) -> str:
        """Send the final dot and return the server's answer, which is all there is as an id."""
        try:
            self._client.send(b".\r\n")
            code, text = self._client.getreply()
        except OSError as error:
            raise MaybeSent(f"The mail was handed over, its answer did not come: {quoted(error)}") from None
        if code // 100 not in {_DONE, _LATER, _NEVER}:
            raise MaybeSent(f"The mail was handed over, its answer cannot be read: {code} {quoted(text)}")
        _expect("the final dot", (code, text))
        return one_line(text)

    def leave(self) -> None:
        """Send QUIT as the protocol asks; a failure does not matter any more."""
        with contextlib.suppress(OSError, NotConnected), Deadline(QUIT_SECONDS).guard(self.connection):
            self._client.docmd("QUIT")
        self._client.close()

    def _options(self, mail: Mail) -> list[str]:
        if mail.is_international and not self._client.has_extn("smtputf8"):
            raise Refused("The address is not ASCII, and the server does not offer SMTPUTF8.")
        if not self._client.has_extn("size"):
            return ["SMTPUTF8"] if mail.is_international else []
        limit = self._client.esmtp_features["size"]
        if _SIZE.fullmatch(limit) and 0 < int(limit) < len(mail.content):
            raise Refused(f"The mail has {len(mail.content):,} bytes; the server takes {int(limit):,}.")
        return [f"SIZE={len(mail.content)}", *(["SMTPUTF8"] if mail.is_international else [])]

    def _adopt(self, connection: socket.socket) -> None:
        self.connection = connection
        self._replies = _Replies(connection)
        self._client.sock = connection
        self._client.file = self._replies


class _Replies:
    """The server's replies, line by line, up to a limit."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._received = bytearray()
        self._left = REPLY_BYTES_MAX

    def readline(self, limit: int) -> bytes:
        while b"\n" not in self._received and len(self._received) < limit:
            more = self._connection.recv(4096)
            self._left -= len(more)
            if self._left < 0:
                raise OSError("the server's replies are too long")
            if not more:
                break
            self._received += more
        end = self._received.find(b"\n") + 1 or len(self._received)
        line = bytes(self._received[: min(end, limit)])
        del self._received[: len(line)]
        return line

    def is_there(self) -> bool:
        """Whether the server has replied or closed the connection out of turn."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(self._received) or bool(poll.poll(0))

    def close(self) -> None:
        self._received.clear()


@contextlib.contextmanager
def _nothing_sent(step: str) -> Iterator[None]:
    """Whatever fails in here, the server has no complete mail."""
    try:
        yield
    except smtplib.SMTPAuthenticationError as error:
        raise _rejection(step, error.smtp_code, error.smtp_error) from None
    except (ssl.CertificateError, smtplib.SMTPNotSupportedError) as error:
        raise NotSent(f"{step}: {quoted(error)}", retry_after=REPAIR_SECONDS) from None
    except (OSError, ValueError) as error:
        raise NotSent(f"{step}: {quoted(error)}") from None


def _expect(step: str, reply: tuple[int, bytes], wanted: int | None = None) -> None:
    code, text = reply
    if (code != wanted) if wanted else (code // 100 != _DONE):
        raise _rejection(step, code, text)


def _rejection(step: str, code: int, text: bytes | str) -> NotSent | Refused:
    """Decide what an answer other than yes means. Pure."""
    reason = f"{step}: {code} {quoted(text)}"
    if code // 100 != _NEVER:
        return NotSent(reason)
    is_about_us = code in _ABOUT_US or (step not in _LETTER_STEPS and not (step == "MAIL" and code == _TOO_LARGE))
    return NotSent(reason, retry_after=REPAIR_SECONDS) if is_about_us else Refused(reason)
