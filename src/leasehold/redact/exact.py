"""Exact values of this process, and the forms they take on their way: base64, hexadecimal, percent-encoded, escaped.

In base64 a value looks different at each of three alignments, and its edges mix with its neighbours; so its core is
looked for, and the whole run of base64 around it is hidden.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from leasehold.redact.page import Page
from leasehold.redact.spans import Span

BASE64_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-="
BASE64_REST: Final = re.compile(r"[A-Za-z0-9+/_=-]*")


class ExactValues:
    """Finds the occurrences of some values in any of their forms."""

    def __init__(self, values: Sequence[str]) -> None:
        self._plain = _owners(values, plain_forms)
        self._base64 = _owners(values, base64_cores)

    def find(self, page: Page) -> Iterator[Span]:
        """Yield each occurrence as one of the value itself, so all forms of it get one number."""
        for form, value in self._plain.items():
            for start, end in _occurrences(page.text, form):
                yield Span(start, end, "registered", value)
        for form, value in self._base64.items():
            for start, end in _base64_runs(page.text, form):
                yield Span(start, end, "registered", value)


def plain_forms(value: str) -> Iterator[str]:
    """Yield the value as it is, escaped, percent-encoded and in hexadecimal."""
    octets = value.encode("utf-8", "surrogatepass")
    yield value
    for escaped in (json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)):
        yield escaped[1:-1]
    yield html.escape(value)
    for encoded in (quote(octets, safe=""), quote(octets), quote_plus(octets), _all_percent(octets)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
    yield octets.hex()
    yield octets.hex().upper()


def base64_cores(value: str) -> Iterator[str]:
    """Yield, for each alignment, the characters of base64 that depend on nothing but the value."""
    octets = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + octets).decode()
        first = -(-8 * shift // 6)
        last = 8 * (shift + len(octets)) // 6
        yield whole[first:last]
        yield whole[first:last].translate(str.maketrans("+/", "-_"))


def _all_percent(octets: bytes) -> str:
    return "".join(f"%{octet:02X}" for octet in octets)


def _owners(values: Sequence[str], forms: Callable[[str], Iterator[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        for form in forms(value):
            found.setdefault(form, value)
    return found


def _occurrences(text: str, form: str) -> Iterator[tuple[int, int]]:
    place = text.find(form)
    while place >= 0:
        end = place + len(form)
        yield place, end
        place = text.find(form, end)


def _base64_runs(text: str, core: str) -> Iterator[tuple[int, int]]:
    """Yield the runs of base64 that hold the core; no stretch of text is looked at twice."""
    done = 0
    place = text.find(core)
    while place >= 0:
        start = done + len(text[done:place].rstrip(BASE64_CHARACTERS))
        rest = BASE64_REST.match(text, place + len(core))
        done = rest.end() if rest else place + len(core)
        yield start, done
        place = text.find(core, done)
