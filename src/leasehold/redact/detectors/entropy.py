"""Tokens without a known form that still look drawn by lot: long, mixed, and changing character at every turn.

Digests, UUIDs, lock-file hashes, public keys, identifiers and paths pass: a random token differs from a long name in
how often it changes between lower case, upper case and digits.
"""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.classify.drawn import HEX, LENGTH_MIN, looks_random
from leasehold.redact.classify.public import is_within, public_blocks
from leasehold.redact.page import Page, end_of
from leasehold.redact.text import Span

PIECE: Final = re.compile(rf"[^/]{{{LENGTH_MIN},}}")
# What stands before a digest or public material: sha256:, sha512-, h1: of go.sum, an image inside a page.
PUBLIC_BEFORE: Final = re.compile(
    r"(?:sha\d{1,3}|md5|h1|blake\w{1,3})[:=-]$|(?:ENC\[AES256_GCM,data|,iv|,tag):$"
    r"|data:(?:(?:image|font|audio|video)/[\w.+-]{1,30}|application/(?:x-|vnd\.ms-)?(?:font|octet-stream|wasm)[\w.+-]{0,30})"
    r"(?:;[\w=.-]{1,30}){0,3};base64,$",
    re.IGNORECASE,
)
PUBLIC_REACH: Final = 120
PUBLIC_START: Final = re.compile(r"sha(?:1|224|256|384|512)-|AAAA[BCE][23][NV]z|AAAAC3NzaC1")
# Folders before a token, as in a URL; what is left of an escape such as `\n` or `%3D`; the margin of a diff.
FOLDERS: Final = re.compile(r"(?:(?<=[.:~])|(?=/))(?:[A-Za-z]?[a-z_-]*/|[0-9]+/)+")
ESCAPE: Final = re.compile(r"(?<=\\)[nrt]|(?<=%)[0-9A-Fa-f]{2}|(?<![^\n])[+-]")
DISCORD: Final = re.compile(r"[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}")


def find_random_tokens(page: Page) -> Iterator[Span]:
    public = public_blocks(page.text)
    for start, end, is_hex in page.tokens:
        if is_within(start, public):
            continue
        if end - start >= LENGTH_MIN and not is_hex:
            yield from _judged(page.text, end_of(ESCAPE, page.text, start), end)


def _judged(text: str, start: int, end: int) -> Iterator[Span]:
    if HEX.fullmatch(text, start, end) or text.startswith("(", end):  # a digest, the name of a function
        return
    found = DISCORD.match(text, start)
    if found and looks_random(found[0].replace(".", "")):
        yield Span(start, found.end(), "discord_token")
    elif looks_random(text[start:end]):
        if not _is_public(text, start):
            yield Span(end_of(FOLDERS, text, start, end), _padded(text, end), "high_entropy")
    elif "/" in text[start:end] and not _is_public(text, start):
        for piece in PIECE.finditer(text, start, end):
            if looks_random(piece[0]):
                yield Span(piece.start(), _padded(text, piece.end()), "high_entropy")


def _is_public(text: str, start: int) -> bool:
    return bool(PUBLIC_START.match(text, start) or PUBLIC_BEFORE.search(text, max(0, start - PUBLIC_REACH), start))


def _padded(text: str, end: int) -> int:
    return end + (text.startswith("=", end) + text.startswith("==", end))
