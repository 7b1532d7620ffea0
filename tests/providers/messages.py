"""Messages and certificates that the tests of providers share."""

import ssl
from pathlib import Path
from typing import Any

from leasehold.model.delivery import Message, token_of

CERTIFICATES = Path(__file__).parent / "certificates"


def sample_message(
    recipient: str = "ada@example.org", subject: str = "change-17", version: int = 3, **message: Any
) -> Message:
    fields = {"title": "Review of change 17", "text": "Three findings.\n"} | message
    return Message(subject, recipient, version, fields, token_of(subject, recipient, version))


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


def client_context() -> ssl.SSLContext:
    """What a client uses that trusts the authority of these tests, and verifies as by default."""
    return ssl.create_default_context(cafile=str(CERTIFICATES / "authority.pem"))
