"""Passwords inside URIs, whatever the scheme: `postgres://user:password@host/name` keeps all but the password."""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.not_secret import is_stand_in
from leasehold.redact.text.page import Page, places
from leasehold.redact.text.spans import Span

USER: Final = re.compile(r"[^\s:/?#@\"'<>`\\]{0,128}:")
# Up to the last @ of the authority: an unescaped @ belongs to the password.
STRICT: Final = re.compile(r"([^\s/?#\"'<>`\\]{1,256})@")
# A password with an unescaped slash. What starts like a port is one: http://host:8080/a@b has no password.
LENIENT: Final = re.compile(r"(?![0-9]{1,5}(?:[/?#]|$))([^\s\"'<>`\\]{1,128})@(?=[A-Za-z0-9_\[.%?$])")
# A token in place of the user: https://<token>@host, https://<token>:x-oauth-basic@host.
TOKEN: Final = re.compile(r"(?=[A-Za-z_~=+-]{0,64}[0-9])([A-Za-z0-9_~=+-]{20,256})(?=(?::[^\s/?#@\"'<>`\\]{0,64})?@)")
# The same as a value of a query, percent-encoded once or twice.
ENCODED: Final = re.compile(
    r"%(?:25)?3a%(?:25)?2f%(?:25)?2f(?:[a-z0-9_.~+-]|%(?!(?:25)?3a|(?:25)?2f|(?:25)?40)){0,128}%(?:25)?3a"
    r"((?:[a-z0-9_.~+!*'-]|%(?!(?:25)?2f|(?:25)?40)){1,256})%(?:25)?40"
)
# Without a scheme only where a host with a port or a path follows: //user:password@host/, user:password@host:5432.
BARE: Final = re.compile(r"(?:\A|[\s\"'=(,\[])(?://)?[A-Za-z0-9_.%+-]{1,64}:([^\s:/@\"'<>`\\(){}\[\]]{4,128})\Z")
BARE_REACH: Final = 200
HOST: Final = re.compile(r"@[A-Za-z0-9][A-Za-z0-9.-]{0,100}(?::[0-9]{2,5}(?![0-9.])|(?=[/\s]))")


def find_uri_passwords(page: Page) -> Iterator[Span]:
    text = page.text
    for place in places(page.shadow, "%2f%2f") if "%2f%2f" in page.shadow else places(page.shadow, "%252f%252f"):
        encoded = ENCODED.match(page.shadow, page.shadow.rfind("%", max(0, place - 5), place))
        if encoded and not is_stand_in(encoded[1]):
            yield Span(*encoded.span(1), "uri_password")
    if "@" not in text:
        return
    for separator in ("://", ":\\/\\/"):
        for place in places(text, separator):
            yield from _password(text, place + len(separator))
    yield from _bare(page)


def _password(text: str, start: int) -> Iterator[Span]:
    if token := TOKEN.match(text, start):
        yield Span(*token.span(1), "uri_password")
    user = USER.match(text, start)
    found = user and (STRICT.match(text, user.end()) or LENIENT.match(text, user.end()))
    if found and not is_stand_in(found[1]):
        yield Span(*found.span(1), "uri_password")


def _bare(page: Page) -> Iterator[Span]:
    for host in HOST.finditer(page.text):
        place = host.start()
        found = BARE.search(page.text, max(0, place - BARE_REACH), place)
        if not found or is_stand_in(found[1]):
            continue
        if found[0].lstrip("\"'=(,[ \t\r\n").startswith("//") or (":" in host[0] and any(map(str.isdigit, found[1]))):
            yield Span(*found.span(1), "uri_password")
