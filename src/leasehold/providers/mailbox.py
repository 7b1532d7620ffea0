"""One e-mail address, strictly read: what a server could take for two addresses, or for a command, is none."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from leasehold.outbound import ascii_host

LOCAL_BYTES_MAX: Final = 64
ADDRESS_BYTES_MAX: Final = 254
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\-\u0080-\U0010ffff]+"
_LOCAL: Final = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_UNSAFE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"}


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
