"""Passwords next to their user: in a pair, in a call that logs in, in a row of a table, in a rejected field."""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.key_names import kind_of
from leasehold.redact.classify.not_secret import is_stand_in
from leasehold.redact.classify.values import quoted
from leasehold.redact.detectors.containers import is_listed_secret
from leasehold.redact.text.page import Page, matches, places
from leasehold.redact.text.spans import Span

SPACE: Final = r"[ \t\r\n]{0,80}"
SIGN: Final = r"\\{0,3}[\"'`]?\]?[ \t]{0,8}(?::|=>|=)[ \t]{0,8}"
ANY: Final = r"[bru]?(?:\\{0,3}\"[^\"\n]{0,128}\"|\\{0,3}'[^'\n]{0,128}'|[a-z_$][a-z0-9_.$]{0,64})"
# As in: auth=("user", "password"), HTTPBasicAuth("user", "password"), smtp.login("user", "password").
PAIRS: Final = (
    (
        "auth",
        re.compile(
            rf"(?:auth{SIGN}|(?<=basic)auth|(?<=basic_)auth|(?<=digest)auth|(?<=proxy)auth|(?<=ntlm)auth)[(\[]{SPACE}"
            rf"{ANY}{SPACE},{SPACE}"
        ),
    ),
    ("credential", re.compile(rf"credentials?(?:{SIGN})?[(\[]{SPACE}{ANY}{SPACE},{SPACE}")),
    ("login(", re.compile(rf"login\({SPACE}{ANY}{SPACE},{SPACE}")),
    ("ftp", re.compile(rf"ftp(?:_tls)?\({SPACE}{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}")),
    ("jwt.", re.compile(rf"jwt\.(?:en|de)code\([^,\"'\n]{{1,80}},{SPACE}")),
    ("hmac", re.compile(r"hmac(?:\.new)?\((?=b?[\"'])")),
)
# PostgreSQL: Key (email, password)=(..., ...) already exists.
ROW: Final = re.compile(r"key \(([^()\r\n]{1,200})\)=\(([^\r\n]{1,500}?)\)(?= already| is | conflicts|[.\r\n\"\\]|$)")
# pydantic names the field on the line before: password\n  String should have ... [type=..., input_value='...'
REJECTED: Final = re.compile(r"(?:\A|\n|\\n)(?:[\w-]{1,40}\.){0,6}([\w-]{1,60})(?:\r?\n|\\n)[^\n]{0,200}\Z")
REJECTED_REACH: Final = 400


def find_pairs(page: Page) -> Iterator[Span]:
    """Yield the passwords that stand in a structure behind a key name."""
    for literal, pattern in PAIRS:
        for found in matches(page.shadow, literal, pattern):
            value = quoted(page.text, found.end())
            if value and is_listed_secret(page.text[value.start : value.end], "password"):
                yield Span(value.start, value.end, "password")
    yield from _in_rows(page)
    yield from _in_rejected_fields(page)


def _in_rows(page: Page) -> Iterator[Span]:
    for found in matches(page.shadow, "key (", ROW):
        kinds = (kind_of(name.strip(' "')) for name in found[1].split(","))
        kind = next((kind for kind in kinds if kind.name), None)
        if kind and not is_stand_in(page.text[found.start(2) : found.end(2)]):
            yield Span(*found.span(2), kind.name)


def _in_rejected_fields(page: Page) -> Iterator[Span]:
    for place in places(page.shadow, "input_value="):
        found = REJECTED.search(page.shadow, max(0, place - REJECTED_REACH), place)
        kind = kind_of(found[1]) if found else None
        value = quoted(page.text, place + len("input_value=")) if kind and kind.name else None
        if kind and value and not is_stand_in(page.text[value.start : value.end]):
            yield Span(value.start, value.end, kind.name)
