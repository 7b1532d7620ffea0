"""Passwords on command lines, where the option that carries them has no key name: `mysql -phunter2`.

A printed list of arguments, also one escaped inside JSON, is read as the command line it stands for.
"""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.not_secret import is_expression, is_stand_in
from leasehold.redact.classify.values import quoted
from leasehold.redact.page import Literals, Page
from leasehold.redact.text import Span

PLAIN: Final = r"(?:[^\s'\"`|;&<>()\\]|\\(?!\\{0,3}[\"'nr]))"
ARGUMENT: Final = rf"(?:'([^'\n]{{1,256}})'|\"([^\"\n]{{1,256}})\"|({PLAIN}{{1,256}}))"
# Between two items of a printed list of arguments: ['curl', '-u', 'user:password'].
BETWEEN_ITEMS: Final = re.compile(r"\\{0,3}[\"'],[ ]?\\{0,3}[\"']")
GAP: Final = r"[ \t]{1,12}"
REACH: Final = 640
OTHER_ARGUMENTS: Final = r"[^\n|;&]{0,200}?\s"
# Of curl, whose addresses have signs of the shell in quotes and whose lines go on below.
ANY_ARGUMENTS: Final = r"(?:[^\n\\]|\\[^\n]|\\\n){0,500}?\s"
WORD: Final = r"[^\s|;&<>]{1,80}"
USER: Final = (
    r"(?:'[^\s:']{1,64}:([^'\n]{1,256})'|\"[^\s:\"]{1,64}:([^\"\n]{1,256})\""
    rf"|[\"']?[^\s:\"'/]{{1,64}}:(?:'([^'\n]{{1,256}})'|\"([^\"\n]{{1,256}})\"|({PLAIN}{{1,256}})))"
)


def _command(names: str, option: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{names})(?![\w/.]){OTHER_ARGUMENTS}{option}")


COMMANDS: Final = Literals((
    ("mysql", _command(r"mysql[a-z]{0,8}", rf"-p(?=\S){ARGUMENT}")),
    ("mariadb", _command(r"mariadb(?:-[a-z]{1,8})?", rf"-p(?=\S){ARGUMENT}")),
    ("sshpass", _command("sshpass", rf"-p[ \t]{{0,12}}{ARGUMENT}")),
    ("redis-cli", _command("redis-cli", rf"-a{GAP}{ARGUMENT}")),
    ("ldap", _command("ldap[a-z]{3,9}", rf"-w{GAP}{ARGUMENT}")),
    ("--oauth2-bearer", re.compile(rf"--oauth2-bearer[ \t=]{{1,12}}{ARGUMENT}")),
    ("az ", re.compile(rf"az login(?![\w/.]){OTHER_ARGUMENTS}-p{GAP}{ARGUMENT}")),
    ("http ", re.compile(rf"(?<![\w/.:-])http[ \t](?:{OTHER_ARGUMENTS})??(?:-a|--auth)[ \t=]{{1,12}}{USER}")),
    ("-pass", re.compile(rf"-pass(?:in|out)?{GAP}pass:{ARGUMENT}")),
    ("/pass:", re.compile(rf"/pass:{ARGUMENT}")),
    *((name, re.compile(rf"(?<=-){name}{GAP}{ARGUMENT}")) for name in ("storepass", "keypass")),
    ("convertto-securestring", re.compile(rf"convertto-securestring{GAP}(?:-string{GAP})?{ARGUMENT}")),
    ("zip ", re.compile(rf"(?:(?<![\w-])|(?<![\w-]un))zip (?:{OTHER_ARGUMENTS})??-p{GAP}{ARGUMENT}")),
    ("7z", _command("7z[a-z]?", rf"-p(?=\S){ARGUMENT}")),
    ("openssl", _command("openssl", rf"-k{GAP}{ARGUMENT}")),
    ("smb", _command("smb[a-z]{3,9}", r"(?:-u|--user)[ \t=]{0,4}[\"']?[^\s%\"']{1,64}%([^\s\"']{1,256})")),
    ("htpasswd", _command(
        "htpasswd", rf"-[a-z]{{0,4}}b[a-z]{{0,4}}{GAP}{WORD}{GAP}{WORD}{GAP}{ARGUMENT}")),
    ("echo ", re.compile(
        rf"echo (?:-[ne]{{1,2}} )?{ARGUMENT}[ \t]{{0,12}}\|[^|\n]{{1,120}}"
        r"(?:--password-stdin|sudo -s|passwd --stdin|cryptsetup)")),
    *((name, _command(name + rest, rf"-p{GAP}{ARGUMENT}")) for name, rest in (
        ("mongo", "(?:sh|dump|restore|export|import|stat|top)?"), ("docker", "[ ]{1,12}login"),
        ("podman", "[ ]{1,12}login"), ("--service-principal", ""), ("psexec", r"(?:64)?(?:\.exe)?"), ("twine", ""),
        ("sqlcmd", ""), ("bcp", ""), ("ipmitool", ""))),
    *((name, _command(name, rf"-pw{GAP}{ARGUMENT}")) for name in ("plink", "pscp")),
    ("gh secret set", re.compile(rf"gh secret set {OTHER_ARGUMENTS}(?:--body|-b)[= \t]{{0,12}}{ARGUMENT}")),
    ("--from-literal", re.compile(rf"--from-literal[= \t]{{1,12}}[\"']?[\w.-]{{1,80}}={ARGUMENT}")),
    ("securestring", re.compile(rf"securestring[^\n|;&]{{0,200}}?\s--value[= \t]{{1,12}}{ARGUMENT}")),
    ("--secret-string", re.compile(rf"--secret-string[= \t]{{1,12}}{ARGUMENT}")),
    ("curl", re.compile(rf"curl(?![\w/.]){ANY_ARGUMENTS}(?:-[a-z]{{0,4}}u|--user|--proxy-user)[ \t=]{{0,12}}{USER}")),
    ("identified", re.compile(
        rf"identified{GAP}(?:with{GAP}\S{{1,64}}{GAP})?(?:by|as){GAP}"
        rf"(?:password{GAP})?(?:(?=\\{{0,3}}['\"]){ARGUMENT}|({PLAIN}{{1,256}})(?=[ \t]{{0,12}};))")),
    ("rabbitmqctl", _command(
        "rabbitmqctl", rf"(?:add_user|change_password|authenticate_user){GAP}{WORD}{GAP}{ARGUMENT}")),
    ("poetry config", re.compile(rf"poetry config http-basic\.{WORD}{GAP}{WORD}{GAP}{ARGUMENT}")),
    ("net use", re.compile(
        rf"net user?{GAP}(?!/){WORD}{GAP}(?:{WORD}{GAP}(?=/user:))?(?:/user:{WORD}{GAP})?"
        rf"(?![/*\\]){ARGUMENT}(?=[ \t]+/|[ \t]*(?:[\r\n]|$))")),
    ("nmcli", _command("nmcli", rf"password{GAP}{ARGUMENT}")),
    ("secrets set ", re.compile(rf"secrets set (?:{OTHER_ARGUMENTS})??\w{{1,60}}={ARGUMENT}")),
    ("setx ", re.compile(rf"setx \w{{0,40}}(?:pass|secret|token|key|pwd)\w{{0,20}}{GAP}{ARGUMENT}")),
    ("vault kv put", re.compile(rf"vault kv put {OTHER_ARGUMENTS}[\w.-]{{1,60}}={ARGUMENT}")),
    ("sqlplus", re.compile(r"sqlplus[ \t](?:-\S{1,8}[ \t]){0,4}[\"']?[\w$#]{1,64}/([^\s@\"']{1,128})(?=@|[\s\"']|$)")),
    (":thin:", re.compile(r":thin:[\w$#]{1,64}/([^\s@\"']{1,128})@")),
))  # fmt: skip


def find_command_passwords(page: Page) -> Iterator[Span]:
    """Yield the arguments of well-known programs that are passwords."""
    for start, end in _arguments(page):
        value = page.text[start:end]
        if not is_stand_in(value) and not is_expression(value, in_code=False):
            yield Span(start, end, "password")


def _arguments(page: Page) -> Iterator[tuple[int, int]]:
    for literal, pattern in COMMANDS.among(page):
        for place in page.places(literal):
            if found := pattern.match(page.shadow, place):
                yield found.span(found.lastindex or 0)
            yield from _in_a_list(page, pattern, place)


def _in_a_list(page: Page, pattern: re.Pattern[str], place: int) -> Iterator[tuple[int, int]]:
    """Yield the argument in a printed list; an item may have spaces and quotes in it, so it is hidden to its end."""
    near = page.shadow[place : place + 100]
    if ("'," not in near and '",' not in near) or not BETWEEN_ITEMS.search(near):
        return
    first = max(0, place - 16)
    window = BETWEEN_ITEMS.sub(lambda found: " " * len(found[0]), page.shadow[first : place + REACH])
    if not (found := pattern.match(window, place - first)):
        return
    start, end = (first + position for position in found.span(found.lastindex or 0))
    gaps = list(BETWEEN_ITEMS.finditer(page.shadow, place, start))
    item = quoted(page.text, gaps[-1].end() - len(gaps[-1][0].rpartition(",")[2].lstrip())) if gaps else None
    yield start, max(end, item.end if item else end)
