"""Passwords in statements: the column of an INSERT that a key name heads, and the keys of encrypted tables."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.key_names import KeyKind, kind_of
from leasehold.redact.classify.not_secret import is_stand_in
from leasehold.redact.text.page import Page, matches
from leasehold.redact.text.spans import Span

SPACE: Final = r"(?:[ \t\r\n]|\\n){0,40}"
INSERT: Final = re.compile(
    rf"(?:(?<=insert)|(?<=replace)) into [^()'\n;]{{1,120}}\(([^()']{{1,1000}})\){SPACE}values{SPACE}"
)
OPEN: Final = re.compile(rf"{SPACE},?{SPACE}\({SPACE}")
TEXT: Final = r"[nebx]?\\?'((?:[^'\\\r\n]|''|\\(?!')[^\r\n]|\\'(?![ ]?[,)]))*+)\\?'"
ITEM: Final = re.compile(rf"(?:{TEXT}|[^,()'\r\n]{{0,200}}(?:\([^()\r\n]{{0,200}}\))?){SPACE}(?P<next>[,)]){SPACE}")
KEYS: Final = (
    ("pragma ", re.compile(
        r"pragma (?:[\w.]{1,40}\.)?(?:re|hex)?key[ \t]{0,4}=[ \t]{0,4}[\"']{1,2}([^\"'\n]{1,256})[\"']")),
    ("crypt(", re.compile(r"crypt\([ \t]{0,4}'([^'\n]{1,256})'[ \t]{0,4},"
                         r"|(?:(?<=pgp_sym_en)|(?<=pgp_sym_de))crypt\([^\n;]{1,200}?,[ \t]{0,4}'([^'\n]{1,256})'")),
)  # fmt: skip


def find_in_statements(page: Page) -> Iterator[Span]:
    """Yield the passwords that statements carry."""
    for literal, pattern in KEYS:
        for found in matches(page.shadow, literal, pattern):
            span = found.span(found.lastindex or 0)
            if not is_stand_in(page.text[slice(*span)]):
                yield Span(*span, "password")
    for insert in matches(page.shadow, " into ", INSERT):
        yield from _rows(page, insert)


def _rows(page: Page, insert: re.Match[str]) -> Iterator[Span]:
    """Yield the values of the secret columns, row by row."""
    kinds = [kind_of(name.strip(' \t\r\n"`[]\\')) for name in insert[1].split(",")]
    position = insert.end()
    while any(kind.strong for kind in kinds) and (opening := OPEN.match(page.shadow, position)):
        position = opening.end()
        for kind in itertools.chain(kinds, itertools.repeat(KeyKind("", strong=False))):
            item = ITEM.match(page.shadow, position)
            if item is None:
                return
            position = item.end()
            if kind.strong and item[1] and not is_stand_in(page.text[slice(*item.span(1))]):
                yield Span(*item.span(1), kind.name)
            if item["next"] == ")":
                break
