"""Passwords by their place in a structure: next to their user, in a rejected field, in a row or key of a table."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.key_names import KeyKind, kind_of
from leasehold.redact.classify.not_secret import is_listed_secret, is_stand_in
from leasehold.redact.classify.values import quoted
from leasehold.redact.page import Literals, Page
from leasehold.redact.text import Span

SPACE: Final = r"[ \t\r\n]{0,80}"
SIGN: Final = r"\\{0,3}[\"'`]?\]?[ \t]{0,8}(?::|=>|=)[ \t]{0,8}"
ANY: Final = r"[bru]?(?:\\{0,3}\"[^\"\n]{0,128}\"|\\{0,3}'[^'\n]{0,128}'|[a-z_$][a-z0-9_.$]{0,64})"
# As in: auth=("user", "password"), HTTPBasicAuth("user", "password"), smtp.login("user", "password").
PAIRS: Final = Literals(
    {
        "auth": re.compile(
            rf"(?:auth{SIGN}|(?<=basic)auth|(?<=basic_)auth|(?<=digest)auth|(?<=proxy)auth|(?<=ntlm)auth)[(\[]{SPACE}"
            rf"{ANY}{SPACE},{SPACE}"
        ),
        "credential": re.compile(rf"credentials?(?:{SIGN})?[(\[]{SPACE}{ANY}{SPACE},{SPACE}"),
        "login(": re.compile(rf"login\({SPACE}{ANY}{SPACE},{SPACE}"),
        "ftp": re.compile(rf"ftp(?:_tls)?\({SPACE}{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}"),
        "getconnection(": re.compile(rf"getconnection\({SPACE}{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}"),
        "mysqli": re.compile(rf"mysqli(?:_connect)?\({SPACE}{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}"),
        "pdo(": re.compile(rf"pdo\({SPACE}\$?{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}"),
        "authenticate(": re.compile(rf"authenticate\({SPACE}{ANY}{SPACE},{SPACE}"),
        "ftp_login(": re.compile(rf"ftp_login\({SPACE}\$?{ANY}{SPACE},{SPACE}{ANY}{SPACE},{SPACE}"),
        "authentication(": re.compile(rf"passwordauthentication\({SPACE}{ANY}{SPACE},{SPACE}"),
        "jwt.": re.compile(rf"jwt\.(?:en|de)code\([^,\"'\n]{{1,80}},{SPACE}"),
        "hmac": re.compile(r"hmac(?:\.new)?\((?=b?[\"'])"),
    }.items()
)
# PostgreSQL: Key (email, password)=(..., ...) already exists.
ROW: Final = re.compile(r"key \(([^()\r\n]{1,200})\)=\(([^\r\n]{1,500}?)\)(?= already| is | conflicts|[.\r\n\"\\]|$)")
# pydantic names the field on the line before: password\n  String should have ... [type=..., input_value='...'
REJECTED: Final = re.compile(r"(?:\A|\n|\\n)(?:[\w-]{1,40}\.){0,6}([\w-]{1,60})(?:\r?\n|\\n)[^\n]{0,200}\Z")
REJECTED_REACH: Final = 400
# Statements: INSERT INTO users (name, password) VALUES (..., ...), and the keys of encrypted tables.
GAP: Final = r"(?:[ \t\r\n]|\\n){0,40}"
INSERT: Final = re.compile(
    rf"(?:(?<=insert)|(?<=replace)) into [^()'\n;]{{1,120}}\(([^()']{{1,1000}})\){GAP}values{GAP}"
)
ROW_OPENS: Final = re.compile(rf"{GAP},?{GAP}\({GAP}")
LITERAL: Final = r"[nebx]?\\?'((?:[^'\\\r\n]|''|\\(?!')[^\r\n]|\\'(?![ ]?[,)]))*+)\\?'"
ITEM: Final = re.compile(rf"(?:{LITERAL}|[^,()'\r\n]{{0,200}}(?:\([^()\r\n]{{0,200}}\))?){GAP}(?P<next>[,)]){GAP}")
TABLE_KEYS: Final = Literals((
    ("pragma ", re.compile(
        r"pragma (?:[\w.]{1,40}\.)?(?:re|hex)?key[ \t]{0,4}=[ \t]{0,4}[\"']{1,2}([^\"'\n]{1,256})[\"']")),
    ("crypt(", re.compile(r"crypt\([ \t]{0,4}'([^'\n]{1,256})'[ \t]{0,4},"
                         r"|(?:(?<=pgp_sym_en)|(?<=pgp_sym_de))crypt\([^\n;]{1,200}?,[ \t]{0,4}'([^'\n]{1,256})'")),
))  # fmt: skip


def find_pairs(page: Page) -> Iterator[Span]:
    """Yield the passwords that stand in a structure behind a key name."""
    for literal, pattern in PAIRS.among(page):
        for found in page.matches(literal, pattern):
            value = quoted(page.text, found.end())
            if value and is_listed_secret(page.text[value.start : value.end], "password"):
                yield Span(value.start, value.end, "password")
    yield from _in_rows(page)
    yield from _in_rejected_fields(page)


def _in_rows(page: Page) -> Iterator[Span]:
    for found in page.matches("key (", ROW):
        kinds = (kind_of(name.strip(' "')) for name in found[1].split(","))
        kind = next((kind for kind in kinds if kind.name), None)
        if kind and not is_stand_in(page.text[found.start(2) : found.end(2)]):
            yield Span(*found.span(2), kind.name)


def _in_rejected_fields(page: Page) -> Iterator[Span]:
    for place in page.places("input_value="):
        found = REJECTED.search(page.shadow, max(0, place - REJECTED_REACH), place)
        kind = kind_of(found[1]) if found else None
        value = quoted(page.text, place + len("input_value=")) if kind and kind.name else None
        if kind and value and not is_stand_in(page.text[value.start : value.end]):
            yield Span(value.start, value.end, kind.name)


def find_in_statements(page: Page) -> Iterator[Span]:
    for literal, pattern in TABLE_KEYS.among(page):
        for found in page.matches(literal, pattern):
            span = found.span(found.lastindex or 0)
            if not is_stand_in(page.text[slice(*span)]):
                yield Span(*span, "password")
    for insert in page.matches(" into ", INSERT):
        yield from _rows(page, insert)


def _rows(page: Page, insert: re.Match[str]) -> Iterator[Span]:
    kinds = [kind_of(name.strip(' \t\r\n"`[]\\')) for name in insert[1].split(",")]
    position = insert.end()
    while any(kind.strong for kind in kinds) and (opening := ROW_OPENS.match(page.shadow, position)):
        position = opening.end()
        for kind in itertools.chain(kinds, itertools.repeat(KeyKind("", strong=False))):
            if (item := ITEM.match(page.shadow, position)) is None:
                return
            position = item.end()
            if kind.strong and item[1] and not is_stand_in(page.text[slice(*item.span(1))]):
                yield Span(*item.span(1), kind.name)
            if item["next"] == ")":
                break
