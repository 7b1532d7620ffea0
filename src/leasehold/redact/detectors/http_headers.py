"""Credentials in headers: Authorization in any scheme, bearer and basic tokens standing alone, cookies."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

from leasehold.redact.classify.drawn import looks_random
from leasehold.redact.classify.not_secret import is_expression, is_label, is_stand_in
from leasehold.redact.page import Literals, Page
from leasehold.redact.text import MASK, Span

LONG: Final = 256
BARE_LENGTH_MIN: Final = 8
SESSION_LENGTH_MIN: Final = 4
ANY_COOKIE_LENGTH_MIN: Final = 16
NAMED: Final = r"\\{0,3}[\"'`]?\]?[ \t]{0,8}(?:[:=]|=>|(?<=[\"'`]),)[ \t]{0,8}(?:[bruf]{0,2}\\{0,3}[\"'`])?[ \t]{0,4}"
AUTHORIZATION: Final = re.compile("authorization" + NAMED)
VALUE: Final = r"([^\s\"'`,;<>\\(){}]+)"
SCHEME: Final = re.compile(
    r"(?:bearer|basic|token|apikey|api-key|key|bot|jwt|negotiate|ntlm|kerberos|splunk|sso-key|geniekey)[ \t]{1,4}"
    + VALUE,
    re.IGNORECASE,
)
# These schemes spread a credential over parameters, quotes included: the rest of the line goes.
SPREADING: Final = r"(?:digest|aws4-hmac-sha256|hawk|oauth|signature|hmac)[ \t]"
PARAMETERS: Final = re.compile(SPREADING + r"([^\r\n=]{1,80}=[^\r\n]+)", re.IGNORECASE)
BARE: Final = re.compile(f"(?!{SPREADING}){VALUE}", re.IGNORECASE)
PLAIN_WORD: Final = re.compile(r"[A-Za-z]?[a-z_.-]*|[A-Z_]*")
SCHEME_WORDS: Final = frozenset((
    "scheme", "realm", "header", "flow", "only", "challenge", "support", "format", "here", "authentication",
    "authorization", "auth", "access",
))  # fmt: skip

BEARER: Final = re.compile(r"bearer(?:[ \t]{1,4}|%20|:[ \t]{0,4})([a-z0-9._~+/=-]{16,})")
BASIC: Final = re.compile(r"basic[ \t]{1,4}([a-z0-9+/]{8,400}={0,2})")

SMTP: Final = re.compile(
    r"auth (?:plain|login|xoauth2|oauthbearer|cram-md5)[ \t]{1,4}([a-z0-9+/]{6,}={0,2})(?![a-z0-9])"
)

COOKIE: Final = re.compile(rf"cookie2?(?:{NAMED}|(?<=--cookie)[ \t]{{1,4}}[\"']?)")
PAIR: Final = re.compile(r"[ \t]{0,4}([A-Za-z0-9!#$%&*+.^_|~-]{1,64})=([^;\s,\"'`\\<>]*)(;?)")
PAIRS_MAX: Final = 64
SESSION: Final = re.compile(r"sess|sid|auth|token|csrf|xsrf|jwt|remember|login|secret|ticket", re.IGNORECASE)
ATTRIBUTES: Final = frozenset(("path", "domain", "expires", "max-age", "samesite", "version", "comment", "priority"))

Reading = Callable[[str, re.Match[str]], tuple[list[Span], int]]


def find_credentials_in_headers(page: Page) -> Iterator[Span]:
    """Yield the credential of every such header; the header's name and scheme stay."""
    for literal, (pattern, read) in HEADERS.among(page):
        done = 0
        for place in page.places(literal):
            if place >= done and (found := pattern.match(page.shadow, place)):
                spans, done = read(page.text, found)
                yield from spans


def _authorization(text: str, header: re.Match[str]) -> tuple[list[Span], int]:
    for pattern in (SCHEME, PARAMETERS, BARE):
        if found := pattern.match(text, header.end()):
            is_code = is_expression(text[found.start(1) : found.end(1) + 1], in_code=True)
            if _is_long(found[1]) or (not is_code and _is_credential(found[1], bare=pattern is BARE)):
                return [Span(*found.span(1), "authorization")], found.end()
            break
    return [], header.end()


def _is_long(value: str) -> bool:
    """What is that long is hidden unseen: to look at it for every header name inside it would take for ever."""
    return len(value) > LONG and bool(value.strip(MASK))


def _is_credential(value: str, *, bare: bool) -> bool:
    """Without a scheme before it, a value has to look like a token by itself."""
    if is_stand_in(value):
        return False
    if bare:
        return len(value) >= BARE_LENGTH_MIN and _is_mixed(value)
    return not PLAIN_WORD.fullmatch(value[:64]) or not (is_label(value) or value.lower() in SCHEME_WORDS)


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _bearer(text: str, found: re.Match[str]) -> tuple[list[Span], int]:
    value = text[found.start(1) : found.end(1)]
    return [Span(*found.span(1), "authorization")] if _is_mixed(value) else [], found.end()


def _basic(text: str, found: re.Match[str]) -> tuple[list[Span], int]:
    value = text[found.start(1) : found.end(1)].rstrip("=")
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4))
    except binascii.Error:
        return [], found.end()
    is_login = b":" in plain and plain.isascii()
    return [Span(*found.span(1), "authorization")] if is_login else [], found.end()


def _cookies(text: str, header: re.Match[str]) -> tuple[list[Span], int]:
    spans: list[Span] = []
    position = header.end()
    for _ in range(PAIRS_MAX):
        if not (pair := PAIR.match(text, position)):
            break
        if _is_session(pair[1], pair[2]):
            spans.append(Span(*pair.span(2), "cookie"))
        position = pair.end()
        if not pair[3]:
            break
    return spans, position


def _is_session(name: str, value: str) -> bool:
    if _is_long(value):
        return True
    if name.lower() in ATTRIBUTES or is_stand_in(value):
        return False
    if SESSION.search(name):
        return len(value) >= SESSION_LENGTH_MIN
    return len(value) >= ANY_COOKIE_LENGTH_MIN and (any(map(str.isdigit, value)) or looks_random(value))


HEADERS: Final[Literals[tuple[re.Pattern[str], Reading]]] = Literals(
    (
        ("authorization", (AUTHORIZATION, _authorization)),
        ("bearer", (BEARER, _bearer)),
        ("basic", (BASIC, _basic)),
        ("auth ", (SMTP, lambda _, found: ([Span(*found.span(1), "authorization")], found.end()))),
        ("cookie", (COOKIE, _cookies)),
    )
)
