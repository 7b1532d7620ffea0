"""Secrets one level below a key name, between brackets: the items of a list, the values of an object."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from leasehold.redact.classify.key_names import Key
from leasehold.redact.classify.not_secret import is_listed_secret
from leasehold.redact.classify.values import opens_its_line, quoted
from leasehold.redact.page import Page, end_of
from leasehold.redact.text import Span

TYPED: Final = r":[ ]?[a-z_][a-z0-9_.\[\]|, ]{0,60}?[ ]=|"
SIGN: Final = rf"\\{{0,3}}[\"'`]?\]?[ \t]{{0,8}}(?:{TYPED}:=|=>|=|(?P<colon>:))[ \t]{{0,8}}"
# A list, a tuple, a set, a call that makes one of them, an object.
OPEN: Final = re.compile(
    rf"{SIGN}(?:dict\(|(?:(?:frozenset|set|list|tuple|array)\()?(?P<bracket>[\[({{])(?![({{]{{2}}))"
)
# What may part two items: commas, line ends (also escaped), the margin of a diff, comments.
ROOM: Final = r"(?:[ \t,]|\r?\n[-+>]?|\\{1,3}[nrt]){0,80}+"
FILL: Final = re.compile(rf"{ROOM}(?:(?:#|//)[^\r\n]{{0,120}}+\r?\n{ROOM}){{0,4}}+")
QUOTE_ENDS: Final = re.compile(r"\\{0,3}[\"'`]")
NAMED: Final = re.compile(r"([A-Za-z0-9_.-]{1,64})\\{0,3}[\"'`]?[ \t]{0,8}(?:=>|=|:)[ \t]{0,8}")
LOOSE: Final = re.compile(r"[^\s,\[\]{}()\"'`#&*!|>%@\\]{3,128}(?=[ \t]{0,8}[,\]])")
SEVERAL: Final = re.compile(r"(?:passwords|passwds|passphrases|secrets|pwds|keys|tokens)$")
# Inside `password: {...}` only these hold the password, inside `passwords: {...}` all do but those of a schema.
HOLDING: Final = frozenset(("value", "default", "plaintext", "data", "s", "stringvalue", "string_value"))
SCHEMA: Final = frozenset((
    "type", "description", "title", "format", "pattern", "required", "name", "file", "external", "environment",
    "driver", "properties", "items", "minlength", "maxlength", "enum", "readonly", "example", "label", "help", "path",
    "source", "target", "mode", "uid", "gid", "ref", "$ref", "key", "id", "version", "secretname", "kind", "env",
    "url", "uri",
))  # fmt: skip


class Item(NamedTuple):
    """One value between brackets, and the name it has there, if any."""

    start: int
    end: int
    inner: str


def find_in_containers(page: Page, keys: Sequence[Key]) -> Iterator[Span]:
    """Yield the secrets of lists and objects that a strong name announces."""
    done = 0
    for key in keys:
        opening = OPEN.match(page.shadow, key.end) if key.kind.strong and key.start >= done else None
        if opening is None:
            continue
        flow = bool(opening["colon"]) and opening["bracket"] == "[" and opens_its_line(page, key)
        for item in read_items(page, opening.end(), flow=flow):
            done = item.end
            if belongs(key.name, item.inner) and is_listed_secret(page.text[item.start : item.end], key.name):
                yield Span(item.start, item.end, key.kind.name)


def belongs(name: str, inner: str) -> bool:
    """Return whether the value of an inner name is what the outer one announces."""
    if not inner:
        return True
    return inner not in SCHEMA if SEVERAL.search(name) else inner in HOLDING


def read_items(page: Page, start: int, *, flow: bool = False) -> Iterator[Item]:
    """Yield the values from here on until something else than a value stands there."""
    position = start
    while item := _item(page, end_of(FILL, page.text, position), flow=flow):
        yield item
        position = end_of(QUOTE_ENDS, page.text, item.end)


def _item(page: Page, start: int, *, flow: bool) -> Item | None:
    text = page.text
    first = quoted(text, start)
    named = NAMED.match(page.shadow, first.start if first else start)
    if named and (value := quoted(text, named.end())):
        return Item(value.start, value.end, named[1].lower())
    if named:
        return None
    if first:
        return Item(first.start, first.end, "")
    loose = LOOSE.match(text, start) if flow else None
    return Item(*loose.span(), "") if loose else None
