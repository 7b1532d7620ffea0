"""Keys and tokens that announce themselves by a prefix, and JSON web tokens."""

import bisect
import itertools
import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.detectors.token_formats import BY_START, EDGE, FORMATS, START
from leasehold.redact.page import Page, Stretch, places
from leasehold.redact.text import Span

REACH_AFTER: Final = 2_000
# Every such token has a run of this length, with its literal in it or shortly before it. One of hexadecimal digits
# alone is a digest or a UUID, if it is not longer than one.
MAILGUN: Final = re.compile(r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}")
REACH: Final = 32
BEFORE_HEX: Final = (".", "$")  # amzn.mws., access_token$production$
MAILGUN_LENGTH: Final = 50

# A header alone is no secret; what follows its dot is.
JWT: Final = re.compile(EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){0,3}")


def find_vendor_tokens(page: Page) -> Iterator[Span]:
    text = page.text
    windows: list[tuple[int, int]] = []
    for token in page.tokens:
        start, end, is_hex = token
        if is_hex and end - start == MAILGUN_LENGTH and MAILGUN.fullmatch(text, start, end):
            yield Span(start, end, "vendor_token")
        if is_hex and not text.startswith(BEFORE_HEX, start - 1):
            continue
        if not is_hex:
            yield from _at_starts(text, token)
        first = max(start - REACH, windows[-1][1] if windows else 0)
        windows.append((first, end))
    if windows:
        yield from _in_windows(text, windows)


def _in_windows(text: str, windows: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield the tokens in the few parts of a text in which one can be."""
    likely = "".join(text[start:end] for start, end in windows)
    begins = list(itertools.accumulate((end - start for start, end in windows), initial=0))
    for form in FORMATS:
        done = 0
        for place in places(likely, form.literal) if form.literal in likely else ():
            number = bisect.bisect_right(begins, place) - 1
            start = windows[number][0] + place - begins[number]
            if start < done:
                continue
            if form.inner:
                found = form.pattern.search(text, max(done, windows[number][0] - REACH), start + REACH_AFTER)
            else:
                found = form.pattern.match(text, start)
            if found:
                done = found.end()
                yield Span(*found.span(form.pattern.groups), form.name)


def _at_starts(text: str, token: Stretch) -> Iterator[Span]:
    """Yield the token whose prefix stands where a stretch begins, or behind an escape or a slash in it."""
    start, end, _ = token
    starts = [start, start + 1, start + 2, start + 3]
    place = text.find("/", start, end)
    while place >= 0:
        starts.append(place + 1)
        place = text.find("/", place + 1, end)
    for first in starts:
        for form in BY_START.get(text[first : first + START], ()):
            if found := form.pattern.match(text, first):
                yield Span(*found.span(form.pattern.groups), form.name)
                return


def find_jwts(page: Page) -> Iterator[Span]:
    """Yield JSON web tokens, whole or cut off after the payload has begun."""
    done = 0
    for place in places(page.text, "eyJ"):
        if place >= done and (found := JWT.match(page.text, place)):
            done = found.end()
            yield Span(*found.span(), "jwt")
