"""Passwords inside URIs, whatever the scheme: `postgres://user:password@host/name` keeps all but the password.

And what a policy may declare confidential: e-mail addresses, hosts by name or suffix, private IP addresses.
"""

import itertools
import re
import string
from collections.abc import Iterator, Sequence
from typing import Final

from leasehold.redact.classify.not_secret import is_stand_in
from leasehold.redact.page import Page, places, start_of
from leasehold.redact.text import Span

# A user may be an e-mail address.
USER: Final = re.compile(r"[^\s:/?#\"'<>`\\]{0,128}:")
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
# Without a scheme: //user:password@host/, user:password@host:5432, user:password@tcp(host:5432), and before any host
# with a dot what is too odd to be the local part of an e-mail address.
BARE: Final = re.compile(r"(?:\A|[\s\"'=(,\[])(?://)?[A-Za-z0-9_.%+-]{1,64}:([^\s:/@\"'<>`\\(){}\[\]]{4,128})\Z")
BARE_REACH: Final = 200
HOST: Final = re.compile(
    r"@(?:[A-Za-z0-9][A-Za-z0-9.-]{0,100}(?:(?P<port>:[0-9]{2,5}(?![0-9.]))|(?=[/\s:\"')]|$))|(?P<net>(?:tcp|unix)\())"
)
NOT_USERS: Final = ("mailto", "mail", "email", "sip", "xmpp", "acct", "npm", "to", "cc", "bcc", "from", "author")
ODD: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?:(?=.*[a-z])(?=.*[A-Z])|(?=.*[!#$%^&*~])).{8,}")

LOCAL_LENGTH_MAX: Final = 64
LOCAL_CHARACTERS: Final = string.ascii_letters + string.digits + "!#$%&*+=?^_{|}~.-"
DOMAIN: Final = re.compile(r"[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){1,8}")
USER_OF_A_URI: Final = re.compile(r"://(?:[^\s/@]{0,64}:)?$")
HOST_LENGTH_MAX: Final = 253
HOST_CHARACTERS: Final = string.ascii_lowercase + string.digits + "-._"
HOST_GOES_ON: Final = re.compile(r"[a-z0-9_-]|\.[a-z0-9]")
PART: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
PRIVATE_V4: Final = re.compile(
    rf"(?<![\w.])(?:10\.{PART}|192\.168|172\.(?:1[6-9]|2[0-9]|3[01])|169\.254|100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7]))"
    rf"\.{PART}\.{PART}(?![\w]|\.[0-9])"
)
# What may stand before comes second: a pattern that starts with a letter is found many times faster.
PRIVATE_V6: Final = re.compile(
    r"f(?<![\w:].)(?:[cd][0-9a-f]{2}|e[89ab][0-9a-f]):[0-9a-f:]{1,39}(?:%\w{1,16})?(?![\w:])"
)
PRIVATE_V4_STARTS: Final = ("10.", "192.168.", "172.", "169.254.", "100.")


def find_uri_passwords(page: Page) -> Iterator[Span]:
    text = page.text
    for place in page.places("%2f%2f") if "%2f%2f" in page.shadow else page.places("%252f%252f"):
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
        if _is_login(found, host):
            yield Span(*found.span(1), "uri_password")


def _is_login(found: re.Match[str], host: re.Match[str]) -> bool:
    """Whether what stands before a host is a user and a password, not an address or a tag."""
    user = found[0].lstrip("\"'=(,[ \t\r\n").partition(":")[0]
    if user.startswith("//") or host["net"]:
        return True
    if host["port"]:
        return any(map(str.isdigit, found[1]))
    return "." in host[0] and user.lower() not in NOT_USERS and ODD.fullmatch(found[1]) is not None


def find_emails(page: Page) -> Iterator[Span]:
    """Yield e-mail addresses; the user and host of a URI are not one, nor is the git user."""
    text = page.text
    for place in places(text, "@"):
        domain = DOMAIN.match(text, place + 1)
        start = start_of(text, place, LOCAL_CHARACTERS, LOCAL_LENGTH_MAX)
        if not domain or text[start:place] in {"", "git"}:
            continue
        if not USER_OF_A_URI.search(text, max(0, start - LOCAL_LENGTH_MAX - 4), start):
            yield Span(start, domain.end(), "email")


def find_addresses(page: Page) -> Iterator[Span]:
    found = (page.matches(start, PRIVATE_V4) for start in PRIVATE_V4_STARTS)
    for address in itertools.chain(*found, PRIVATE_V6.finditer(page.shadow)):
        yield Span(*address.span(), "address")


class ConfidentialHosts:
    """Finds the hosts that a policy names, or that end in a suffix it names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(dict.fromkeys(names))

    def find(self, page: Page) -> Iterator[Span]:
        """Yield whole host names, the labels before a suffix included."""
        for name in self._names:
            for place in page.places(name):
                start = start_of(page.shadow, place, HOST_CHARACTERS, HOST_LENGTH_MAX)
                end = place + len(name)
                is_whole = name.startswith(".") or start == place or page.shadow[place - 1] == "."
                if is_whole and start < end - 1 and not HOST_GOES_ON.match(page.shadow, end):
                    yield Span(start, end, "host")
