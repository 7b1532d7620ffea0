"""Passwords one level below their name: in a list, in an object, in a pair with the user, in a row of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.benign import is_path, is_prompt, is_stand_in
from leasehold.redact.keys import find_keys, kind_of
from leasehold.redact.page import Page, places
from leasehold.redact.spans import Span
from leasehold.redact.values import ALPHABETIC, Value, quoted

LENGTH_MIN: Final = 3
LENGTH_JUDGED_MAX: Final = 256
SPACE: Final = r"[ \t\r\n]{0,80}"
SIGN: Final = r"\\{0,3}[\"'`]?\]?[ \t]{0,8}(?::|=>|=)[ \t]{0,8}"
# "passwords": ["..."] and "password": {"value": "..."}
OPEN: Final = re.compile(
    rf"{SIGN}(?:[\[(]{SPACE}"
    rf"|\{{{SPACE}\\{{0,3}}[\"']?(?:value|default|plaintext|data|s)\\{{0,3}}[\"']?[ \t]{{0,8}}[:=]{SPACE})"
)
NEXT: Final = re.compile(rf"\\{{0,3}}[\"'`]{SPACE},{SPACE}")
# As in: auth=("user", "password"), or HTTPBasicAuth("user", "password").
PAIR: Final = re.compile(
    rf"(?:(?:auth|credentials?){SIGN}|(?<=basic)auth|(?<=basic_)auth|(?<=digest)auth|(?<=proxy)auth)[(\[]{SPACE}"
    rf"[bru]?(?:\"[^\"\n]{{0,128}}\"|'[^'\n]{{0,128}}'|[a-z_][a-z0-9_.]{{0,64}}){SPACE},{SPACE}"
)
# PostgreSQL: Key (email, password)=(..., ...) already exists.
ROW: Final = re.compile(r"key \(([^()\r\n]{1,200})\)=\(([^\r\n]{1,500}?)\)(?= already| is | conflicts|[.\r\n\"\\]|$)")


def find_nested(page: Page) -> Iterator[Span]:
    """Yield the passwords that stand in a structure behind a telling name."""
    yield from _in_structures(page)
    yield from _in_pairs(page)
    yield from _in_rows(page)


def _in_structures(page: Page) -> Iterator[Span]:
    done = 0
    for key in sorted(find_keys(page)):
        opening = OPEN.match(page.shadow, key.end) if key.kind.strong and key.start >= done else None
        for value in _items(page, opening.end()) if opening else ():
            done = value.end
            if _is_secret(page.text[value.start : value.end], key.name):
                yield Span(value.start, value.end, key.kind.name)


def _items(page: Page, start: int) -> Iterator[Value]:
    """Yield the quoted values from here on that only commas part."""
    position: int | None = start
    while position is not None and (value := quoted(page.text, position)):
        yield value
        following = NEXT.match(page.shadow, value.end)
        position = following.end() if following else None


def _in_pairs(page: Page) -> Iterator[Span]:
    for literal in ("auth", "credential"):
        for place in places(page.shadow, literal):
            found = PAIR.match(page.shadow, place)
            value = quoted(page.text, found.end()) if found else None
            if value and _is_secret(page.text[value.start : value.end], "password"):
                yield Span(value.start, value.end, "password")


def _in_rows(page: Page) -> Iterator[Span]:
    for place in places(page.shadow, "key ("):
        found = ROW.match(page.shadow, place)
        kinds = [kind_of(name.strip(' "')) for name in found[1].split(",")] if found else []
        kind = next((kind for kind in kinds if kind.name), None)
        if found and kind and not is_stand_in(page.text[found.start(2) : found.end(2)]):
            yield Span(*found.span(2), kind.name)


def _is_secret(said: str, name: str) -> bool:
    """Tell a secret from the name of one: in lists and pairs a word of letters only is nearly always a name."""
    if len(said) > LENGTH_JUDGED_MAX:
        return not is_stand_in(said)
    if len(said) < LENGTH_MIN or ALPHABETIC.fullmatch(said) or is_stand_in(said):
        return False
    return not is_path(said) and not is_prompt(said, name)
