"""Passwords inside URIs, whatever the scheme: `postgres://user:password@host/name` keeps all but the password."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.benign import is_stand_in
from leasehold.redact.page import Page, places
from leasehold.redact.spans import Span

USER: Final = re.compile(r"[^\s:/?#@\"'<>`\\]{0,128}:")
# Up to the last @ of the authority: an unescaped @ belongs to the password.
STRICT: Final = re.compile(r"([^\s/?#\"'<>`\\]{1,256})@")
# A password with an unescaped slash. What starts like a port is one: http://host:8080/a@b has no password.
LENIENT: Final = re.compile(r"(?![0-9]{1,5}(?:[/?#]|$))([^\s\"'<>`\\]{1,128})@(?=[A-Za-z0-9_\[.%?$])")
# A token in place of the user: https://<token>@host, https://<token>:x-oauth-basic@host.
TOKEN: Final = re.compile(r"(?=[A-Za-z_~=+-]{0,64}[0-9])([A-Za-z0-9_~=+-]{20,256})(?=(?::[^\s/?#@\"'<>`\\]{0,64})?@)")


def find_uri_passwords(page: Page) -> Iterator[Span]:
    """Yield the password of every URI that carries one."""
    text = page.text
    if "://" not in text or "@" not in text:
        return
    for place in places(text, "://"):
        if token := TOKEN.match(text, place + 3):
            yield Span(*token.span(1), "uri_password")
        user = USER.match(text, place + 3)
        found = user and (STRICT.match(text, user.end()) or LENIENT.match(text, user.end()))
        if found and not is_stand_in(found[1]):
            yield Span(*found.span(1), "uri_password")
