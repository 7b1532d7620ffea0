"""A message as the bytes of one e-mail: the same message is the same bytes, so that a second copy can be recognised.

The message's fields are `title` and `text`, and if wanted `html`, `reply_to` and `date` (ISO 8601 with an offset).
There is no wall clock in it: without `date` the mail has no Date, and the first server it comes to adds one.
A line break or a control in what becomes a header is refused, never repaired; and so is what a server could take for
two addresses, or for a command.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final

from leasehold.model.delivery import Message, Refused
from leasehold.outbound import ascii_host, is_one_line
from leasehold.providers.errors import checked_token

REQUIRED: Final = {"title", "text"}
FIELDS: Final = REQUIRED | {"html", "reply_to", "date"}
TITLE_LENGTH_MAX: Final = 500
PLAIN_LENGTH_MAX: Final = 69
LOCAL_BYTES_MAX: Final = 64
ADDRESS_BYTES_MAX: Final = 254
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u0080-\U0010ffff]+"
_LOCAL: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_UNSAFE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}
_TEXT: Final = re.compile(r"[^\0\ud800-\udfff]*")  # what UTF-8 can encode, and no NUL
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_PLAIN: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_WORDS: Final = re.compile(r"[A-Za-z0-9]+(?: [A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Mailbox:
    """`local@domain`; the domain is as DNS carries it."""

    local: str
    domain: str

    @classmethod
    def parse(cls, text: str) -> Mailbox:
        """Read a bare address; `ValueError` has the reason. Quoted local parts and IP addresses are refused."""
        local, at, domain = text.rpartition("@")
        if not at or not _LOCAL.fullmatch(local) or any(unicodedata.category(each) in _UNSAFE for each in local):
            raise ValueError("it is not an e-mail address")
        mailbox = cls(local, ascii_host(domain))
        if len(local.encode()) > LOCAL_BYTES_MAX or len(str(mailbox).encode()) > ADDRESS_BYTES_MAX:
            raise ValueError("it is too long for an e-mail address")
        return mailbox

    @property
    def is_international(self) -> bool:
        """Whether only servers with SMTPUTF8 can carry it."""
        return not self.local.isascii()

    def __str__(self) -> str:
        return f"{self.local}@{self.domain}"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who the mail is from, and the domain of its `Message-ID`."""

    mailbox: Mailbox
    name: str = ""
    id_domain: str = ""

    def message_id(self, token: str) -> str:
        """Return the `Message-ID` of a token: the same on every try."""
        return f"<{token}@{self.id_domain or self.mailbox.domain}>"


@dataclass(frozen=True, slots=True)
class Mail:
    """What is handed to a server: one sender, one recipient, one text with CRLF line ends."""

    sender: Mailbox
    recipient: Mailbox
    message_id: str
    content: bytes

    @property
    def is_international(self) -> bool:
        """Whether an address in it needs SMTPUTF8."""
        return self.sender.is_international or self.recipient.is_international


def compose(message: Message, sender: Sender) -> Mail:
    """Write the message as a mail, or raise `Refused`: what it holds can never be sent."""
    token = checked_token(message, "Message-ID")
    recipient = _mailbox(message.recipient, "recipient")
    fields = _fields(message.message)
    message_id = sender.message_id(token)
    headers = {
        "Message-ID": message_id,
        "From": f"{_written(sender.name, _WORDS)} <{sender.mailbox}>" if sender.name else str(sender.mailbox),
        "To": str(recipient),
        "Subject": _written(fields["title"], _PLAIN),
        **_optional(fields, may_be_international=recipient.is_international or sender.mailbox.is_international),
        "Auto-Submitted": "auto-generated",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return Mail(sender.mailbox, recipient, message_id, head.encode() + _LINE_END.sub(b"\r\n", _body(fields, token)))


def _written(text: str, plain: re.Pattern[str]) -> str:
    """Return a text as (part of) a header's value. What is long or could be read as anything but itself is encoded.

    Not by the library's header objects: they decode what looks encoded already, and so let line breaks in.
    """
    if plain.fullmatch(text) and "=?" not in text and len(text) <= PLAIN_LENGTH_MAX:
        return text
    return Header(text, "utf-8", header_name="Subject").encode(linesep="\r\n")


def _fields(message: dict[str, Any]) -> dict[str, str]:
    if unknown := message.keys() - FIELDS:
        raise Refused(f"A mail has no field {min(unknown)!r}; it has {', '.join(sorted(FIELDS))}.")
    if missing := REQUIRED - message.keys():
        raise Refused(f"The mail's field {min(missing)!r} is missing.")
    for name, value in message.items():
        if not isinstance(value, str) or not _TEXT.fullmatch(value):
            raise Refused(f"The mail's field {name!r} is not a text.")
    if not is_one_line(message["title"]) or len(message["title"]) > TITLE_LENGTH_MAX:
        raise Refused(f"The title of a mail is one line of at most {TITLE_LENGTH_MAX} characters without controls.")
    return message


def _mailbox(text: str, name: str) -> Mailbox:
    try:
        return Mailbox.parse(text)
    except ValueError as error:
        raise Refused(f"The {name} cannot get mail: {error}.") from None


def _optional(fields: dict[str, str], *, may_be_international: bool) -> dict[str, str]:
    headers = {}
    if "reply_to" in fields:
        reply_to = _mailbox(fields["reply_to"], "reply_to")
        if reply_to.is_international and not may_be_international:
            raise Refused("The reply_to needs SMTPUTF8, the recipient's address does not.")
        headers["Reply-To"] = str(reply_to)
    if "date" in fields:
        headers["Date"] = _date(fields["date"])
    return headers


def _date(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Refused("The mail's date is not ISO 8601.") from None
    if moment.tzinfo is None:
        raise Refused("The mail's date has no offset from UTC.")
    return format_datetime(moment)


def _body(fields: dict[str, str], token: str) -> bytes:
    """Return the headers that describe the body, an empty line and the body, all ASCII."""
    message = EmailMessage(SMTP.clone(cte_type="7bit"))
    message.set_content(fields["text"])
    if "html" in fields:
        message.add_alternative(fields["html"], subtype="html")
        # The library draws the boundary at random. A hash of what it divides is always the same, and not part of it.
        parts = "\0".join((token, fields["text"], fields["html"]))
        message.set_boundary(f"=_{hashlib.sha256(parts.encode()).hexdigest()[:48]}")
    return message.as_bytes()
