"""Private keys in PEM, OpenSSH, PGP and PuTTY form: whole, cut off by a diff at either end, or escaped on one line.

The first line of a key becomes the placeholder and the others go blank, so line numbers and diff margins stay. A marker
without a key next to it is no secret. Every line is walked over once: a walk begins where the last one ended.

A fragment is the middle of a key that lost both its markers, as a hunk of a diff shows it: lines of base64, all of one
width. Wide lines are nearly always found to be random one by one; here the narrow ones are found, and those that look
less random. Three wide lines or four narrow ones, equal in width and margin, mixed and random when read as one, are
taken for a key. Digests and identifiers are hexadecimal or have dashes; words are not all of one width.
"""

import itertools
import re
import string
from collections.abc import Iterator
from typing import Final, NamedTuple

from leasehold.redact.classify.drawn import looks_random
from leasehold.redact.classify.public import is_within, public_blocks
from leasehold.redact.page import Page, end_of, places
from leasehold.redact.text import Span

BEFORE: Final = re.compile(r"-{4,5} ?(BEGIN|END)(?:[ +]|%20)[A-Z0-9 +%]{0,40}$")
AFTER: Final = re.compile(r"(?:(?:[ +]|%20)BLOCK)?(?: ?-{1,5})?")
NAMES: Final = ("PRIVATE KEY", "PRIVATE%20KEY", "PRIVATE+KEY")
PUTTY: Final = re.compile(r"[0-9]{1,5}")
MARKER_REACH: Final = 56

CORE: Final = string.ascii_letters + string.digits + "+/="
FULL_LINE: Final = 16  # what is shorter can only be the end of a key
NARROW_LINE: Final = 10  # the same between two markers
INLINE_RUN: Final = re.compile(r"[A-Za-z0-9+/]{24,}")
INLINE: Final = re.compile(r"[A-Za-z0-9+/=\\%&#;:,. \t-]*")
INLINE_ESCAPED: Final = re.compile(r"(?:\\+[nr]|%0[ADad]|&#(?:1[03]|x[ADad]);)+[A-Za-z0-9+/]")
TAIL: Final = r"(?:\\{1,2}[nr])*+[\"'`]?+[ \t]*+[,+\\;.)]*+[ \t]*+\r?$"
MARGIN: Final = r"[ \t]*+(?:[-+>|#*:]{1,3}+[ \t]*+|//[ \t]*+|[0-9]{1,5}[:|][ \t]*+)?+(?:[brf]?[\"'`])?+"
BODY: Final = re.compile(MARGIN + r"([A-Za-z0-9+/=]++)" + TAIL)
EMPTY: Final = re.compile(MARGIN + TAIL)
# What a log, a container, `cat -n` or grep put before each line: the same at every line but for its numbers.
PREFIX_MAX: Final = 160
NUMBER: Final = re.compile(r"[0-9]+")
SPACES: Final = re.compile(r"[ \t]*+")
SIGNS: Final = {":": "-", "-": ":"}  # grep writes a dash where a line only stands next to what was found
FIELD: Final = re.compile(MARGIN + r"[A-Z][A-Za-z0-9-]{1,30}: ")
REST_OF_MARKER: Final = re.compile(TAIL)

WIDE: Final = 40
LINES_OF: Final = {True: 3, False: 4}  # how many full lines it takes, by whether they are wide
SAMPLE_LINES: Final = 16
END: Final = r"=?=?(?:\\n)?[\"']?[ \t]{0,4}[,+\\]?[ \t]{0,4}(?:\r?\n|\Z)"
FRAGMENT: Final = r"([-+>|]?[ \t]{0,40}[\"']?)([A-Za-z0-9+/]{12,}+)" + f"(?={END})"
FRAGMENT_OF_TEXT: Final = re.compile(FRAGMENT)
FRAGMENT_BELOW: Final = re.compile(rf"\n{FRAGMENT}")
FRAGMENT_LINE: Final = re.compile(r"[A-Za-z0-9+/]++")
LINE_END: Final = re.compile(END)
PUBLIC_MARKER: Final = ("-----", "-----\r")


Part = tuple[int, int]
FoundKey = tuple[list[Part], int]  # what a walk came upon: the parts to hide, and how far it went


class Marker(NamedTuple):
    """A line that opens or closes a key."""

    start: int
    end: int
    opens: bool


def find_private_keys(page: Page) -> Iterator[Span]:
    text = page.text
    markers = sorted(_markers(text))
    done = 0
    for marker, following in itertools.zip_longest(markers, markers[1:]):
        if marker.start < done:
            continue
        limit = following.start if following else len(text)
        closing = following if following and not following.opens else None
        parts, done = _after(text, marker, closing, limit) if marker.opens else _before(text, marker, done)
        yield from _spans(text, parts)


def _markers(text: str) -> Iterator[Marker]:
    for name in NAMES:
        for place in places(text, name):
            before = BEFORE.search(text, max(0, place - MARKER_REACH), place)
            after = AFTER.match(text, place + len(name))
            if before and after:
                yield Marker(before.start(), after.end(), opens=before[1] == "BEGIN")
    for place in places(text, "Private-Lines: "):
        if found := PUTTY.match(text, place + len("Private-Lines: ")):
            yield Marker(place, found.end(), opens=True)


def _spans(text: str, parts: list[Part]) -> Iterator[Span]:
    """Yield the parts of one key: the first becomes a placeholder, the others go blank."""
    value = text[parts[0][0] : parts[-1][1]] if parts else ""
    yield from (Span(*part, "private_key", value, blank=part != parts[0]) for part in parts)


def _after(text: str, marker: Marker, closing: Marker | None, limit: int) -> FoundKey:
    """Find the key below or after its opening marker, but not beyond the next marker."""
    line_end = _line_end(text, marker.end, limit)
    if closing and line_end == limit:
        whole = INLINE_RUN.search(text, marker.end, closing.start)
        return [(marker.start, closing.end)] if whole else [], closing.end
    if not REST_OF_MARKER.match(text, marker.end, line_end):
        end = end_of(INLINE, text, marker.end, line_end)
        is_key = INLINE_ESCAPED.match(text, marker.end, end) or INLINE_RUN.search(text, marker.end, end)
        return ([(marker.start, end)], end) if is_key else ([], marker.end)
    prefix = _prefix(text, marker.start)
    cores, end = _walk_down(text, line_end + 1, limit, NARROW_LINE if closing else FULL_LINE, prefix)
    if not cores:
        return [], marker.end
    if closing and not text[_after_prefix(text, end, prefix) : closing.start].strip("-+>|#* \t\"'`/"):
        cores.append((closing.start, closing.end))
        end = closing.end
    return [(marker.start, marker.end), *cores], end


def _prefix(text: str, start: int) -> list[str]:
    """Return what stands before a marker on its line, parted at its numbers."""
    line_start = max(text.rfind("\n", max(0, start - PREFIX_MAX), start) + 1, start - PREFIX_MAX, 0)
    return NUMBER.split(text[line_start:start])


def _after_prefix(text: str, line_start: int, prefix: list[str]) -> int:
    """Return where the content of a line begins: after the same prefix, or at once."""
    position = line_start
    for number, part in enumerate(prefix):
        position = end_of(NUMBER, text, position) if number else position
        if part.isspace():
            position = end_of(SPACES, text, position)
        elif text.startswith((part, SIGNS.get(part, part)), position):
            position += len(part)
        else:
            return line_start
    return position


def _walk_down(text: str, position: int, limit: int, full: int, prefix: list[str]) -> tuple[list[Part], int]:
    """Collect the lines of a key from here on; return them and where the first line after them starts."""
    cores: list[Part] = []
    while position < limit:
        line_end = _line_end(text, position, limit)
        if line_end == limit < len(text):  # the margin of the next marker
            break
        start = _after_prefix(text, position, prefix)
        body = BODY.match(text, start, line_end)
        if body and _belongs(body, cores, full, is_last=line_end + 1 >= len(text)):
            cores.append(body.span(1))
        elif not EMPTY.match(text, start, line_end) and (cores or not FIELD.match(text, start, line_end)):
            break
        position = line_end + 1
    return cores, position


def _belongs(body: re.Match[str], cores: list[Part], full: int, *, is_last: bool) -> bool:
    """A full line belongs; a short one does if it ends a key that has begun, or if the text ends with it."""
    if len(body[1]) >= full:
        return True
    after_full_line = bool(cores) and cores[-1][1] - cores[-1][0] >= full
    return after_full_line or (is_last and not cores)


def _before(text: str, marker: Marker, done: int) -> FoundKey:
    """Find what is left of a key whose beginning was cut off, above or before its closing marker."""
    line_start = max(done, text.rfind("\n", done, marker.start) + 1)
    ahead = text[line_start : marker.start]
    start = line_start + len(ahead.rstrip(CORE + "\\%&#; "))
    if INLINE_RUN.search(text, start, marker.start):
        return [(start, marker.end)], marker.end
    cores = _walk_up(text, line_start, done, _prefix(text, marker.start))
    return [*cores, (marker.start, marker.end)] if cores else [], marker.end


def _walk_up(text: str, line_start: int, done: int, prefix: list[str]) -> list[Part]:
    cores: list[Part] = []
    while line_start > done:
        line_end = line_start - 1
        line_start = max(done, text.rfind("\n", done, line_end) + 1)
        body = BODY.match(text, _after_prefix(text, line_start, prefix), line_end)
        if body is None or (cores and len(body[1]) < FULL_LINE):
            break
        cores.append(body.span(1))
    return cores[::-1]


def _line_end(text: str, position: int, limit: int) -> int:
    end = text.find("\n", position, limit)
    return limit if end < 0 else end


def find_fragments(page: Page) -> Iterator[Span]:
    text = page.text
    public = public_blocks(text)
    found = FRAGMENT_OF_TEXT.match(text) or FRAGMENT_BELOW.search(text)
    while found:
        if is_within(found.start(2), public):
            found = FRAGMENT_BELOW.search(text, found.end())
            continue
        lines = _fragment_lines(text, found)
        width = lines[0][1] - lines[0][0]
        full = [line for line in lines if line[1] - line[0] == width]
        done = full[-1][1]
        if len(full) >= LINES_OF[width >= WIDE] and _is_random(text, full):
            done = lines[-1][1]
            yield from _spans(text, lines)
        found = FRAGMENT_BELOW.search(text, done)


def _fragment_lines(text: str, first: re.Match[str]) -> list[Part]:
    """Return the lines of one width from here on, and the shorter one that ends them."""
    start, end = first.span(2)
    if text.endswith(PUBLIC_MARKER, 0, first.start()):  # of what is public: a certificate, a signature
        return [(start, end)]
    margin = first[1]
    line_end = LINE_END.match(text, end)
    if margin == "+" and line_end and not text.startswith("+", line_end.end()):
        start, margin = start - 1, ""  # no margin of a diff but the first character of the line
    lines = [(start, end)]
    for line in _lines_below(text, end, margin):
        if line[1] - line[0] <= end - start:
            lines.append(line)
        if line[1] - line[0] != end - start:
            break
    return lines


def _lines_below(text: str, position: int, margin: str) -> Iterator[Part]:
    while (line_end := LINE_END.match(text, position)) and text.startswith(margin, line_end.end()):
        body = FRAGMENT_LINE.match(text, line_end.end() + len(margin))
        if body is None or not LINE_END.match(text, body.end()):
            return
        yield body.span()
        position = body.end()


def _is_random(text: str, lines: list[Part]) -> bool:
    bodies = [text[start:end] for start, end in lines[:SAMPLE_LINES]]
    return len(set(bodies)) > 1 and looks_random("".join(bodies))
