"""Exact values of this process, and the forms they take on their way: base64, hexadecimal, percent-encoded, escaped.

In base64 a value looks different at each of three alignments, and its edges mix with its neighbours; so its core is
looked for, and the whole run of base64 around it is hidden, however many lines it was wrapped into.
"""

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from leasehold.redact.page import Page, Runs, end_of, places
from leasehold.redact.text import Span

BASE64_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-="
BASE64_REST: Final = re.compile(r"[A-Za-z0-9+/_=-]*")
CORE_LENGTH_MIN: Final = 8
ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be")

WIDTH_MIN: Final = 16  # of a line that something longer was wrapped into
# The end of such a line and the start of the next: quotes of a program, escaped line ends, the margin of a quotation.
WRAP: Final = re.compile(
    r"[\"']?[ \t]{0,8}[\\+,.]?[ \t]{0,8}(?:\r?\n|\\{1,3}r\\{1,3}n|\\{1,3}n|%0[AaDd]|&#10;)+"
    r"[ \t]{0,80}(?:[>|#*][ \t]{0,8})?[\"']?"
)
WRAP_STARTS: Final = frozenset("\r\n\\\"'%&")
WRAPPED_LINE: Final = re.compile(r"[A-Za-z0-9+/_-]++={0,2}")


class ExactValues:
    """Finds the occurrences of some values in any of their forms."""

    def __init__(self, values: Sequence[str]) -> None:
        self._plain = _owners(values, plain_forms)
        self._cased = _owners(values, caseless_forms)
        self._base64 = _owners(values, base64_cores)
        self._runs = Runs(min(map(len, self._base64), default=CORE_LENGTH_MIN), b"+/")
        self._lines = Runs(WIDTH_MIN, b"+/")

    def find(self, page: Page) -> Iterator[Span]:
        """Yield each occurrence as one of the value itself, so all forms of it get one number."""
        for forms, text in ((self._plain, page.text), (self._cased, page.shadow)):
            for form, value in forms.items():
                for start in places(text, form, step=len(form)):
                    yield Span(start, start + len(form), "registered", value)
        likely = "\n".join(page.text[start:end] for start, end in self._runs.find(page.text))
        for core, value in self._base64.items():
            for start, end in _base64_runs(page.text, core) if core in likely else ():
                yield Span(start, end, "registered", value)
        yield from self._wrapped(page.text)

    def _wrapped(self, text: str) -> Iterator[Span]:
        """Yield the blocks of several lines that hold a value only if read as one."""
        for lines in _blocks(self._lines, text):
            whole = "".join(text[start:end] for start, end in lines)
            bare = "".join(text[start:end].removeprefix("+").removeprefix("-") for start, end in lines)
            for core, value in self._base64.items():
                if core in whole or core in bare:
                    yield Span(lines[0][0], lines[-1][1], "registered", value)


def plain_forms(value: str) -> Iterator[str]:
    yield value
    once = json.dumps(value)[1:-1]
    yield from (once, json.dumps(once)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1])
    yield html.escape(value)
    yield value.encode("unicode_escape", "surrogatepass").decode("ascii")


def caseless_forms(value: str) -> Iterator[str]:
    """Yield the forms whose digits may be of either case, in lower case."""
    octets = value.encode("utf-8", "surrogatepass")
    quotations = (quote(octets, safe=""), quote(octets), quote_plus(octets), quote(quote(octets, safe="")))
    yield from (encoded.lower() for encoded in quotations if "%" in encoded)
    pairs = [f"{octet:02x}" for octet in octets]
    yield from (mark.join(pairs) for mark in ("", ":", " "))
    yield from ("".join(start + pair for pair in pairs) for start in ("%", "\\x"))
    yield from (value.encode(encoding, "surrogatepass").hex() for encoding in ENCODINGS[1:])


def base64_cores(value: str) -> Iterator[str]:
    """Yield the characters of base64 that depend on nothing but the value, also of base64 inside base64."""
    for encoding in ENCODINGS:
        yield from _cores(value.encode(encoding, "surrogatepass"))
    for core in _cores(value.encode("utf-8", "surrogatepass")):
        yield from (twice for twice in _cores(core.encode()) if len(twice) >= CORE_LENGTH_MIN)


def _cores(octets: bytes) -> Iterator[str]:
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + octets).decode()
        first = -(-8 * shift // 6)
        last = 8 * (shift + len(octets)) // 6
        yield whole[first:last]
        yield whole[first:last].translate(str.maketrans("+/", "-_"))


def _owners(values: Sequence[str], forms: Callable[[str], Iterator[str]]) -> dict[str, str]:
    """Return each form with the first value that has it."""
    return {form: value for value in reversed(values) for form in forms(value)}


def _base64_runs(text: str, core: str) -> Iterator[tuple[int, int]]:
    done = 0
    place = text.find(core)
    while place >= 0:
        start = done + len(text[done:place].rstrip(BASE64_CHARACTERS))
        done = end_of(BASE64_REST, text, place + len(core))
        yield start, done
        place = text.find(core, done)


def _blocks(runs: Runs, text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the lines of each block that may be one text wrapped: no line before the last is a short one."""
    done = 0
    for start, end in runs.find(text):
        if start < done or text[end : end + 1] not in WRAP_STARTS:
            continue
        lines = [(start, end)]
        while lines[-1][1] - lines[-1][0] >= WIDTH_MIN and (wrap := WRAP.match(text, lines[-1][1])):
            if (line := WRAPPED_LINE.match(text, wrap.end())) is None:
                break
            lines.append(line.span())
        done = lines[-1][1]
        if len(lines) > 1:
            yield lines
