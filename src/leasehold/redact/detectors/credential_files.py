"""Passwords that are known by their position alone: in .netrc and .pgpass, in protocol dialogs, as a hash.

Each row is a literal that must be there, and a pattern tried around it whose last group is hidden.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.redact.classify.key_names import kind_of
from leasehold.redact.classify.not_secret import is_path, is_stand_in
from leasehold.redact.page import Literals, Page
from leasehold.redact.text import Span

EOL: Final = r"(?:\r?\n|\\{1,3}r\\{1,3}n|\\{1,3}n)"
SPACE: Final = r"(?:[ \t]|\r?\n|\\{1,3}n){1,12}"
STARTS: Final = r"(?<![^\s\"'>|:])"
ENDS: Final = r"(?=[ \t]{0,8}(?:[\r\n\"'\\]|$))"
WORD: Final = r"[^\s\"'\\]"
REACH_AFTER: Final = 600


class LineFormat(NamedTuple):
    """The format of such a line: the class, a literal in it, how far before that it may begin, the pattern."""

    name: str
    literal: str
    reach: int
    pattern: re.Pattern[str]


LINES: Final = Literals((line.literal, line) for line in (
    # machine h login u password p
    LineFormat("password", "login", 0, re.compile(
        rf"login{SPACE}{WORD}{{1,128}}{SPACE}(?:account{SPACE}{WORD}{{1,128}}{SPACE})?password{SPACE}({WORD}+)")),
    # host:5432:database:user:password
    *(LineFormat("password", mark, 260, re.compile(
        rf"(?:\A|\n|\\n|[\"'+-])[^\s:\"'\\]{{1,253}}:(?:[0-9]{{4,5}}|\*):[^\s:]{{1,64}}:[^\s:]{{1,64}}:"
        rf"({WORD}{{1,256}}){ENDS}"))
      for mark in ("432:", ":*:")),
    # USER bob, PASS ..., as spoken to FTP, POP3 and IRC, and as their libraries print it
    LineFormat("password", "pass ", 0, re.compile(r"(?<=['\"])pass ([^\s\"'\\]{1,256})(?=(?:\\r\\n|\\n)?['\"])")),
    LineFormat("password", "user ", 0, re.compile(
        rf"{STARTS}user {WORD}{{1,128}}{EOL}(?:[^\n\\]{{0,160}}{EOL}){{0,2}}?"
        rf"(?:[^\s\\]{{1,8}}[ \t]{{1,4}}){{0,2}}pass ({WORD}+)")),
    LineFormat("password", "login ", 9, re.compile(
        rf"{STARTS}[a-z]{{0,4}}[0-9]{{1,6}} login (?:\"[^\"\n]{{1,128}}\"|{WORD}{{1,128}}) "
        rf"(?:\"([^\"\n]{{1,256}})\"|({WORD}{{1,256}}){ENDS})")),
    LineFormat("password", "auth ", 0, re.compile(
        rf"{STARTS}auth (?:[^\s\"']{{1,64}} )?([^\s\"']{{3,256}}){EOL}[^\n]{{0,12}}?(?:\+ok|-err|-wrongpass|-noauth)")),
    LineFormat("authorization", "334 ugfzc3dvcmq6", 0, re.compile(
        rf"334 ugfzc3dvcmq6[^\n]{{0,20}}?{EOL}[^\n]{{0,40}}?(?<![a-z0-9+/])([a-z0-9+/]{{4,256}}={{0,2}}){ENDS}")),
    # [mail.example.org]:587 user:password, in the maps of Postfix
    LineFormat("password", "]:", 120, re.compile(
        rf"(?:\A|\n)\[[\w.-]{{1,100}}\]:[0-9]{{2,5}}[ \t]{{1,8}}[^\s:]{{1,80}}:({WORD}{{1,256}}){ENDS}")),
    LineFormat("password", "snmp-server community", 0, re.compile(rf"snmp-server community ({WORD}{{1,64}})")),
    # hashes of passwords, as crypt(3) and its successors write them
    LineFormat("password", "$", 0, re.compile(
        r"(?:(?<=pbkdf2_sha256)\$[0-9]{1,8}|\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2(?:id|i|d)|sha1|sha512|md5|scrypt"
        r"|pbkdf2[a-z0-9-]{0,12}))\$"
        r"(?:[a-z]{1,8}=?[0-9]{1,8}[$,]|[0-9]{2}\$){0,5}[a-z0-9./+$=,-]{20,}")),
    # the API key is 0123...
    LineFormat("api_key", " key", 0, re.compile(
        r"(?:(?<=api)|(?<=access)|(?<=secret)|(?<=private)) key(?: is|:| =)?[ \t]{1,4}[\"'`]?"
        r"(?=[a-z_-]{0,40}[0-9])(?=[0-9_-]{0,40}[a-z])([a-z0-9_-]{16,256})(?![\w.])")),
    LineFormat("password", "chpasswd", 200, re.compile(
        r"echo (?:-[ne]{1,2} )?[\"']?[^\s:\"'/]{1,64}:([^\n\"'|]{1,128}?)[\"']?[ \t]{0,4}\|[ \t]{0,4}"
        r"(?:sudo )?chpasswd")),
))  # fmt: skip
# An object or an entry whose value stands before its name.
VALUE_FIRST: Final = re.compile(
    r"value\\{0,3}[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"(?:\\{0,3}\"([^\"\n\\]{1,256})\\{0,3}\"|'([^'\n]{1,256})'|([^\s\"'{}\[\],]{1,256}))"
    r"[ \t]{0,4},?(?:[ \t\r\n]|\\n){0,40}\\{0,3}[\"']?"
    r"(?:name|key)\\{0,3}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}[\"']?([\w.-]{1,80})"
)


def find_in_credential_files(page: Page) -> Iterator[Span]:
    """Yield what stands where such a line has its password."""
    for _, line in LINES.among(page):
        for found in _matches(page, line):
            span = found.span(found.lastindex or 0)
            value = page.text[slice(*span)]
            if not is_stand_in(value) and not is_path(value):
                yield Span(*span, line.name)
    for found in page.matches("value", VALUE_FIRST):
        kind = kind_of(found[4].strip("_-"))
        span = next(found.span(group) for group in (1, 2, 3) if found[group])
        if kind.strong and not is_stand_in(page.text[slice(*span)]):
            yield Span(*span, kind.name)


def _matches(page: Page, line: LineFormat) -> Iterator[re.Match[str]]:
    """Yield the matches around each literal; they do not overlap."""
    done = 0
    shadow = page.shadow
    for place in page.places(line.literal):
        if place < done:
            continue
        if line.reach:
            found = line.pattern.search(shadow, max(done, place - line.reach), place + REACH_AFTER)
        else:
            found = line.pattern.match(shadow, place)
        if found:
            done = found.end()
            yield found
