"""Messages as e-mail over SMTP.

Plain SMTP cannot be asked whether it took a mail, and has no idempotency key. So it cannot be exactly-once: a mail
whose final answer is lost may be out, and `find` returns `Unknown`. If it is sent again it carries the same
`Message-ID`, by which mailboxes and people recognise a copy.
"""

import contextlib
import socket
import ssl
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from leasehold.errors import OptionInvalid
from leasehold.model.delivery import Message, NotSent, Sent, Unknown
from leasehold.outbound import Deadline, ascii_host, connect, is_loopback_host, is_one_line, quoted
from leasehold.outbound.addresses import Permit, Resolver, address_of, any_address, is_loopback, resolve
from leasehold.providers.conversation import Conversation
from leasehold.providers.errors import as_delivery_error, check_timeout, hide
from leasehold.providers.limits import REPAIR_SECONDS
from leasehold.providers.mail import Mailbox, Sender, compose

Tls = Literal["starttls", "tls", "none"]
PORTS: Final[dict[Tls, int]] = {"starttls": 587, "tls": 465, "none": 25}
PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Smtp:
    """A mail server. `timeout` holds for all up to the final dot, and once more for the answer to it.

    Without TLS it talks to this machine only, unless `insecure`; credentials never leave it without TLS.
    `hello` is the name given in EHLO; `id_domain` stands in `Message-ID` instead of the sender's domain.
    """

    host: str
    sender: str
    port: int = 0
    tls: Tls = "starttls"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    sender_name: str = ""
    id_domain: str = ""
    hello: str = ""
    timeout: float = 120.0
    insecure: bool = False
    context: ssl.SSLContext | None = field(default=None, repr=False)
    resolver: Resolver = field(default=resolve, repr=False)

    def __post_init__(self) -> None:
        """Refuse at once what could never send, or would send secrets in the clear."""
        if self.password:
            hide(self.password)
        if self.tls not in get_args(Tls):
            raise OptionInvalid(f"TLS is one of {', '.join(get_args(Tls))}.")
        if not 0 <= self.port <= PORT_MAX:
            raise OptionInvalid(f"A port is at most {PORT_MAX}.")
        check_timeout(self.timeout)
        self._check_names()
        self._check_credentials()
        if self._stays_here and not is_loopback_host(self.host):
            raise OptionInvalid("Without TLS, mail and credentials stay on this machine; use STARTTLS or TLS.")

    def send(self, message: Message) -> Sent:
        """Hand the mail over; the id is the server's answer to it."""
        mail = compose(message, self._sender)
        deadline = Deadline(self.timeout)
        with (
            as_delivery_error(),
            contextlib.closing(self._connect(deadline)) as connection,
            contextlib.ExitStack() as stack,
        ):
            with deadline.guard(connection):
                conversation = Conversation(self._wrapped(connection), self.hello)
                stack.callback(conversation.leave)
                self._approach(conversation)
                conversation.offer(mail)
                conversation.begin(mail)
            with Deadline(self.timeout).guard(conversation.connection):
                answer = conversation.hand_over()
        return Sent(answer or mail.message_id)

    def find(self, message: Message, notification_id: str | None) -> Unknown:  # noqa: ARG002
        """Return `Unknown`: SMTP has no look-up."""
        return Unknown(
            "Plain SMTP cannot be asked whether it took a mail; look for"
            f" {self._sender.message_id(message.token)} in the server's log or the mailbox."
        )

    def _approach(self, conversation: Conversation) -> None:
        conversation.greet()
        if self.tls == "starttls":
            conversation.secure(self.host, self._context())
        if self.user is not None and self.password is not None:
            conversation.log_in(self.user, self.password)

    def _connect(self, deadline: Deadline) -> socket.socket:
        permit: Permit = is_loopback if self._stays_here else any_address
        port = self.port or PORTS[self.tls]
        return connect(self.host, port, permit=permit, resolver=self.resolver, deadline=deadline)

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        if self.tls != "tls":
            return connection
        try:
            return self._context().wrap_socket(connection, server_hostname=self.host)
        except (OSError, ValueError) as error:
            raise NotSent(f"TLS: {quoted(error)}", retry_after=REPAIR_SECONDS) from None

    def _context(self) -> ssl.SSLContext:
        return self.context or ssl.create_default_context()

    @property
    def _sender(self) -> Sender:
        return Sender(Mailbox.parse(self.sender), self.sender_name, self.id_domain)

    @property
    def _stays_here(self) -> bool:
        return self.tls == "none" and (not self.insecure or self.user is not None)

    def _check_names(self) -> None:
        try:
            Mailbox.parse(self.sender)
            for name in filter(None, (self.id_domain, self.hello)):
                ascii_host(name)
            if address_of(self.host) is None:
                ascii_host(self.host)
        except ValueError as error:
            raise OptionInvalid(f"The mail server's host, sender, id_domain or hello: {error}.") from None
        if not is_one_line(self.sender_name):
            raise OptionInvalid("A sender's name is one line without controls.")

    def _check_credentials(self) -> None:
        if (self.user is None) != (self.password is None):
            raise OptionInvalid("A user and a password come together.")
        if any(not (text.isascii() and is_one_line(text)) for text in (self.user or "", self.password or "")):
            raise OptionInvalid("A user and a password are ASCII without controls.")
