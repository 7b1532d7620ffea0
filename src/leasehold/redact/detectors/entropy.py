"""Tokens without a known form that still look drawn by lot: long, mixed, and changing character at every turn.

Digests, UUIDs, lock-file hashes, public keys, identifiers and paths pass: a random token differs from a long name in
how often it changes between lower case, upper case and digits.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from leasehold.redact.text import Page, Runs, Span, end_of

LENGTH_MIN: Final = 24
ONE_CASE_LENGTH_MIN: Final = 30
BITS_MIN: Final = 3.5
TURNS_MIN: Final = 0.4
ONE_CASE_TURNS_MIN: Final = 0.2
SAMPLE_MAX: Final = 512  # a longer run is judged by its beginning

RUNS: Final = Runs(LENGTH_MIN, b"+/")
SHAPES: Final = bytes.maketrans(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", b"a" * 26 + b"A" * 26 + b"0" * 10
)

PIECE: Final = re.compile(rf"[^/]{{{LENGTH_MIN},}}")
HEX: Final = re.compile(r"(?:0[xX])?[0-9A-Fa-f-]*")
DIGEST: Final = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{32,128}(?![A-Za-z0-9])")
ONE_CASE: Final = re.compile(r"[a-z0-9]+|[A-Z0-9]+")
# What stands before a digest or public material: sha256:, sha512-, h1: of go.sum, an image inside a page.
PUBLIC_BEFORE: Final = re.compile(
    r"(?:sha\d{1,3}|md5|h1|blake\w{1,3})[:=-]$|data:(?:image|font|audio|video)/[\w.+-]{1,30};base64,$", re.IGNORECASE
)
PUBLIC_REACH: Final = 60
PUBLIC_START: Final = re.compile(r"sha(?:1|224|256|384|512)-|AAAA[BCE][23][NV]z|AAAAC3NzaC1")
# Folders before a token, as in a URL; what is left of an escape such as `\n` or `%3D`; the margin of a diff.
FOLDERS: Final = re.compile(r"(?:(?<=[.:~])|(?=/))(?:[A-Za-z]?[a-z_-]*/|[0-9]+/)+")
ESCAPE: Final = re.compile(r"(?<=\\)[nrt]|(?<=%)[0-9A-Fa-f]{2}|(?<![^\n])[+-]")
DISCORD: Final = re.compile(r"[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}")


def find_random_tokens(page: Page) -> Iterator[Span]:
    for start, end in RUNS.find(page.text):
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


def looks_random(token: str) -> bool:
    """Distinguish a token drawn by lot from a name, a path or a digest."""
    sample = DIGEST.sub("", token[:SAMPLE_MAX])
    if len(sample) < LENGTH_MIN or HEX.fullmatch(sample):
        return False
    shape = sample.encode().translate(SHAPES, b"+/_-")
    turns = sum(map(int.__ne__, shape, shape[1:])) / len(sample)
    if ONE_CASE.fullmatch(sample):
        return len(sample) >= ONE_CASE_LENGTH_MIN and turns >= ONE_CASE_TURNS_MIN and bits(sample) >= BITS_MIN
    mixed = b"a" in shape and b"A" in shape and b"0" in shape
    return mixed and turns >= TURNS_MIN and bits(sample) >= BITS_MIN


def bits(sample: str) -> float:
    """Return Shannon's measure: bits a character, by how often each character occurs."""
    size = len(sample)
    return -sum(count / size * math.log2(count / size) for count in Counter(sample).values())
