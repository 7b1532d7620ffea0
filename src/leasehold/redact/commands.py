"""Passwords on command lines, where the option that carries them has no telling name: `mysql -phunter2`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.benign import is_expression, is_stand_in
from leasehold.redact.page import Page, places
from leasehold.redact.spans import Span
from leasehold.redact.values import QUOTES

ARGUMENT: Final = r"(?:'([^'\n]{1,256})'|\"([^\"\n]{1,256})\"|([^\s'\"`|;&<>()]{1,256}))"
# Between two items of a printed list of arguments: ['curl', '-u', 'user:password'].
BETWEEN_ITEMS: Final = re.compile(r"[\"'],[ ]?[\"']")
OTHER_ARGUMENTS: Final = r"[^\n|;&]{0,200}?\s"
USER: Final = r"(?:[\"'](?=[^\"'\s]*:))?[^\s:\"']{1,64}:([^\s\"'`|;&<>]{1,256})"


def _command(names: str, option: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{names})(?![\w/.]){OTHER_ARGUMENTS}{option}")


COMMANDS: Final = (
    ("mysql", _command(r"mysql[a-z]{0,8}", rf"-p(?=\S){ARGUMENT}")),
    ("mariadb", _command(r"mariadb(?:-[a-z]{1,8})?", rf"-p(?=\S){ARGUMENT}")),
    ("sshpass", _command("sshpass", rf"-p[ \t]{{0,4}}{ARGUMENT}")),
    ("redis-cli", _command("redis-cli", rf"-a[ \t]{{1,4}}{ARGUMENT}")),
    ("docker", _command("docker[ ]{1,4}login", rf"-p[ \t]{{1,4}}{ARGUMENT}")),
    ("ldap", _command("ldap[a-z]{3,9}", rf"-w[ \t]{{1,4}}{ARGUMENT}")),
    ("curl", _command("curl", rf"(?:-u|--user|--proxy-user)[ \t=]{{0,4}}{USER}")),
    ("identified by", re.compile(rf"identified by[ \t]{{1,4}}(?:password[ \t]{{1,4}})?(?=['\"]){ARGUMENT}")),
    ("-pass", re.compile(rf"-pass(?:in|out)?[ \t]{{1,4}}pass:{ARGUMENT}")),
    ("convertto-securestring", re.compile(rf"convertto-securestring[ \t]{{1,4}}(?:-string[ \t]{{1,4}})?{ARGUMENT}")),
)


def find_command_passwords(page: Page) -> Iterator[Span]:
    """Yield the arguments of well-known programs that are passwords."""
    line = BETWEEN_ITEMS.sub(lambda found: " " * len(found[0]), page.shadow)
    for shadow in dict.fromkeys((page.shadow, line)):
        for start, end in _arguments(page, shadow):
            value = page.text[start:end]
            if not is_stand_in(value) and not is_expression(value, in_code=False):
                yield Span(start, end, "password")


def _arguments(page: Page, shadow: str) -> Iterator[tuple[int, int]]:
    for literal, pattern in COMMANDS:
        matches = (pattern.match(shadow, place) for place in places(shadow, literal))
        for found in filter(None, matches):
            start, end = found.span(found.lastindex or 0)
            yield start, (end if shadow is page.shadow else max(end, _item_end(page, found.start(), start)))


def _item_end(page: Page, command: int, start: int) -> int:
    """Return where the item of a list ends in which an argument starts: it may have spaces and quotes in it."""
    gaps = list(BETWEEN_ITEMS.finditer(page.shadow, command, start))
    item = QUOTES[gaps[-1][0][-1]].match(page.text, start) if gaps else None
    return item.end() if item else start
